import sharp from 'sharp';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { deflateSync, crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fileForm, openTestPlatform, type Person } from '../../testing/platform.ts';

const { person, send, http } = await openTestPlatform();
const ada = await person();
const bob = await person();
const operator = await person({ is_operator: true });

const picturePath = ({ user }: Person) => `/profile/${user.id}/picture`;
const upload = (someone: Person, file: Buffer, of = someone) => someone.send('POST', picturePath(of), { file });
const fetchPicture = async (url: string) => http.inject({ url: new URL(url).pathname });

const image = (width: number, height: number) => sharp({ create: { width, height, channels: 3, background: '#336699' } });
const withSecretPlace = (picture: ReturnType<typeof image>) =>
  picture.withExif({ IFD0: { Copyright: 'home address' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' } });

describe('a picture', () => {
  test.for([
    ['JPEG', () => withSecretPlace(image(1600, 900)).jpeg()],
    ['PNG', () => image(900, 1600).png()],
    ['WebP', () => image(700, 700).webp()],
    ['GIF', () => image(600, 800).gif()],
  ] as const)('may be a %s; it becomes a small square without anything else that was in the file', async ([, make]) => {
    const { status, json } = await upload(ada, await make().toBuffer());
    expect({ status, json }).toEqual({ status: 200, json: { url: expect.stringMatching(/^http.*\/pictures\/[\w-]{22}\.webp$/) } });
    expect((await ada.send('GET', '/users/me')).json.picture).toBe(json.url);
    expect((await ada.send('GET', `/profiles/${ada.user.id}`)).json.picture).toBe(json.url);

    const reply = await fetchPicture(json.url);
    expect(reply.statusCode).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    const metadata = await sharp(reply.rawPayload).metadata();
    expect(metadata).toMatchObject({ format: 'webp', width: 512, height: 512 });
    for (const left of ['exif', 'icc', 'xmp', 'iptc'] as const) expect(metadata[left]).toBeUndefined();
  });

  test('is not made larger than it was', async () => {
    const { json } = await upload(ada, await image(40, 30).png().toBuffer());
    expect(await sharp((await fetchPicture(json.url)).rawPayload).metadata()).toMatchObject({ width: 30, height: 30 });
  });

  test('is turned the way the camera said', async () => {
    const left = await image(100, 50)
      .composite([{ input: await image(50, 50).negate().png().toBuffer(), left: 0, top: 0 }])
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const { json } = await upload(ada, left);
    const { data } = await sharp((await fetchPicture(json.url)).rawPayload)
      .resize(2, 2, { kernel: 'nearest' })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(Math.abs((data[0] ?? 0) - (data[3] ?? 255))).toBeLessThan(30);
    expect(Math.abs((data[0] ?? 0) - (data[6] ?? 0))).toBeGreaterThan(100);
  });

  test('has a new address each time, and the old one is gone', async () => {
    const [first, second] = [await upload(ada, await image(9, 9).png().toBuffer()), await upload(ada, await image(9, 9).png().toBuffer())];
    expect(first.json.url).not.toBe(second.json.url);
    expect((await fetchPicture(first.json.url)).statusCode).toBe(404);
    expect((await fetchPicture(second.json.url)).statusCode).toBe(200);
  });

  test('can be removed, also when there is none', async () => {
    const { json } = await upload(ada, await image(9, 9).png().toBuffer());
    for (const status of [204, 204]) expect((await ada.send('DELETE', picturePath(ada))).status).toBe(status);
    expect((await fetchPicture(json.url)).statusCode).toBe(404);
    expect((await ada.send('GET', '/users/me')).json.picture).toBe('');
  });

  test('can be changed by its owner and by operators only', async () => {
    const file = await image(9, 9).png().toBuffer();
    expect((await upload(bob, file, ada)).status).toBe(404);
    expect((await bob.send('DELETE', picturePath(ada))).status).toBe(404);
    expect((await upload(operator, file, ada)).status).toBe(200);
  });
});

/** A PNG that says it is huge and holds a few bytes. */
function hugePng(width: number, height: number) {
  const chunk = (type: string, data: Buffer) => {
    const [length, sum, content] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(type), data])];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(content));
    return Buffer.concat([length, content, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(1_000_000))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>';

describe('what is no picture', () => {
  test.for([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello')],
    ['an SVG, which can name other files', Buffer.from(svg)],
    ['a web page', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['the first bytes of a PNG', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
    ['a PNG of 60,000 by 60,000 pixels', hugePng(60_000, 60_000)],
    ['a PNG of 5,001 by 5,001 pixels', hugePng(5001, 5001)],
  ] as const)('%s is refused, and the picture stays as it was', async ([, content]) => {
    const before = (await bob.send('GET', '/users/me')).json.picture;
    expect(await upload(bob, content)).toMatchObject({ status: 400, json: { detail: { file: expect.any(String) } } });
    expect((await bob.send('GET', '/users/me')).json.picture).toBe(before);
  });

  test('a TIFF is refused though it is a picture: its decoder is switched off', async () => {
    expect((await upload(bob, await image(9, 9).tiff().toBuffer())).status).toBe(400);
  });

  test('a file cut short is refused', async () => {
    const whole = await image(800, 800)
      .composite([{ input: { create: { width: 99, height: 99, channels: 3, background: 'red' } } }])
      .png()
      .toBuffer();
    expect((await upload(bob, whole.subarray(0, whole.length / 2))).status).toBe(400);
  });
});

describe('a form', () => {
  const authorization = `Bearer ${bob.accessToken}`;
  const post = (headers: Record<string, string>, payload: string | Buffer) =>
    send({ method: 'POST', url: picturePath(bob), headers: { authorization, ...headers }, payload });

  test('with more than 5 MiB is refused', async () => {
    expect(await upload(bob, Buffer.alloc(5 * 1024 * 1024 + 1))).toMatchObject({
      status: 413,
      json: { error: 'file must be at most 5 MiB.' },
    });
  });

  test.for([
    ['another field', fileForm('photo', Buffer.from('x'), {}), 400],
    ['no content type', { headers: {}, payload: 'x' }, 415],
    ['JSON', { headers: { 'content-type': 'application/json' }, payload: '{"file":"x"}' }, 415],
    ['no boundary', { headers: { 'content-type': 'multipart/form-data' }, payload: 'x' }, 400],
    [
      'an end before its end',
      {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        payload: '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      },
      400,
    ],
    ['no parts', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, payload: '--x--\r\n' }, 400],
    ['rubbish', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, payload: '\0'.repeat(1000) }, 400],
    ['an empty body', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, payload: '' }, 400],
  ] as const)('with %s is refused in words', async ([, { headers, payload }, status]) => {
    const reply = await post(headers as Record<string, string>, payload as Buffer);
    expect(reply).toMatchObject({ status, json: { error: expect.any(String) } });
  });

  test('is found whatever the file is called', async () => {
    const file = await image(9, 9).png().toBuffer();
    const { headers, payload } = fileForm('file', file, {}, '../../etc/passwd\0.exe');
    expect((await post(headers as Record<string, string>, payload as Buffer)).status).toBe(200);
  });

  test('of a stranger is answered before its file is sent', async () => {
    await http.listen({ port: 0, host: '127.0.0.1' });
    const { port } = http.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST ${picturePath(bob)} HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 5000000\r\n\r\n--x\r\n`,
    );
    const [answer] = await socket.take(1).toArray();
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  });
});
