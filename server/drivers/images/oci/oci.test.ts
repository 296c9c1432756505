/** Images of a real registry: resolved, fetched, unpacked, shared; and what a registry may hold that must not get onto the machine. */
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { openOutbound } from '../../outbound/outbound.ts';
import { openImages } from '../cached-images.ts';
import type { Images } from '../images.ts';
import { parseReference, textOf } from './reference.ts';
import { unpackLayer } from './unpack-layer.ts';
import { digestOf } from './registry.ts';
import { openTestRegistry, testCredentials, type TestRegistry } from './test-registry.ts';
import { Readable } from 'node:stream';

test('the names of images are read as other tools read them', () => {
  const full = (text: string) => {
    const reference = parseReference(text);
    return reference && textOf(reference);
  };
  expect(full('redis')).toBe('docker.io/library/redis:latest');
  expect(full('team/web:1.4')).toBe('docker.io/team/web:1.4');
  expect(full('localhost:5000/web')).toBe('localhost:5000/web:latest');
  const digest = `sha256:${'0'.repeat(64)}`;
  expect(full(`ghcr.io/team/web:1@${digest}`)).toBe(`ghcr.io/team/web@${digest}`);
  const wrong = ['', 'Web', 'web:', 'a@b', 'web@sha256:12', 'ex ample.com/web', '../etc/passwd', 'example.com/../web', 'web?x=1'];
  expect(wrong.filter((text) => full(text) !== undefined)).toEqual([]);
});

describe.runIf(canRunContainers)(`images of a registry${whyNoContainers}`, () => {
  let registry: TestRegistry;
  let secured: TestRegistry;
  let images: Images;
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-oci-'));
  const open = (name: string, allowPrivateAddresses: readonly string[] = ['127.0.0.0/8']) =>
    openImages(
      join(folder, name),
      {},
      { outbound: openOutbound({ allowPrivateAddresses }), plainRegistries: [registry.host, secured.host] },
    );

  beforeAll(async () => {
    [registry, secured] = await Promise.all([openTestRegistry(), openTestRegistry({ isPrivate: true })]);
    images = open('images');
  }, 120_000);
  afterAll(async () => {
    await Promise.all([registry?.stop(), secured?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** An archive of these files; `null` is a folder. */
  function archive(files: Record<string, string | null>, ...options: string[]): Buffer {
    const from = join(folder, randomBytes(6).toString('hex'));
    mkdirSync(from);
    for (const [path, text] of Object.entries(files)) {
      if (text === null) mkdirSync(join(from, path), { recursive: true });
      else {
        mkdirSync(join(from, path, '..'), { recursive: true });
        writeFileSync(join(from, path), text);
      }
    }
    return execFileSync('tar', ['--create', '--file=-', `--directory=${from}`, ...options, ...readdirSync(from)]);
  }

  test('a tag is resolved once, layers are shared, and what was removed below stays removed', async () => {
    const base = archive({ 'etc/kept': 'kept', 'etc/gone': 'gone', 'old/file': 'old' });
    const first = archive({ 'etc/.wh.gone': '', 'old/.wh..wh..opq': '', 'old/new': 'new', 'run-me': '#!/bin/sh' }, '--mode=4700');
    const config = {
      Entrypoint: ['/run-me'],
      Cmd: ['now'],
      Env: ['A=b=c'],
      WorkingDir: '/etc',
      User: '12',
      ExposedPorts: { '8080/tcp': {}, '53/udp': {} },
    };
    await registry.push('team/web', '1', { layers: [base, first], config });
    const image = await images.bring(`${registry.host}/team/web:1`);
    expect(image.config).toEqual({
      entrypoint: ['/run-me'],
      cmd: ['now'],
      env: { A: 'b=c' },
      workingFolder: '/etc',
      user: '12',
      ports: [8080],
      volumes: [],
    });
    const [lower = '', upper = ''] = image.layers;
    const [whiteout, program] = [lstatSync(join(upper, 'etc/gone')), lstatSync(join(upper, 'run-me'))];
    expect([whiteout.isCharacterDevice(), whiteout.rdev]).toEqual([true, 0]);
    expect([program.mode & 0o7777, program.uid]).toEqual([0o755, 0]);
    const seen = join(folder, 'seen');
    mkdirSync(seen);
    execFileSync('unshare', [
      '--mount',
      'sh',
      '-c',
      `mount -t overlay overlay -o lowerdir=${upper}:${lower} ${seen} && cd ${seen} && find . -type f | sort >${folder}/list`,
    ]);
    expect(readFileSync(join(folder, 'list'), 'utf8').trim().split('\n')).toEqual(['./etc/kept', './old/new', './run-me']);

    // The tag moves; what was brought stays what it was, and the next image has the lower layer in common with it.
    await registry.push('team/web', '1', { layers: [base, archive({ other: 'other' })] });
    const moved = await images.bring(`${registry.host}/team/web:1`);
    expect(moved.digest).not.toBe(image.digest);
    expect(moved.layers[0]).toBe(lower);
    expect((await images.ensure(image.type)).layers).toEqual(image.layers);
    const pinned = await images.bring(`${registry.host}/team/web@${image.digest}`);
    expect(pinned.layers).toEqual(image.layers);
    expect((await open('elsewhere').ensure(image.type)).layers.length).toBe(2);
  });

  test('the image for this machine is taken, and none for another', async () => {
    const own = await registry.push('team/both', 'own', { layers: [archive({ own: '1' })] });
    const other = await registry.push('team/both', 'other', { layers: [archive({ other: '1' })], platform: 'linux/s390x' });
    const index = (...manifests: object[]) => ({ schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests });
    const platform = (architecture: string) => ({ platform: { os: 'linux', architecture } });
    const mine = process.arch === 'x64' ? 'amd64' : process.arch;
    await registry.pushManifest('team/both', '1', index({ ...other, ...platform('s390x') }, { ...own, ...platform(mine) }));
    expect((await images.bring(`${registry.host}/team/both:1`)).digest).toBe(own.digest);
    await registry.pushManifest('team/both', '2', index({ ...other, ...platform('s390x') }));
    await expect(images.bring(`${registry.host}/team/both:2`)).rejects.toThrow(
      /is not made for linux\/\w+, which this machine is, but for linux\/s390x/,
    );
    await expect(images.bring(`${registry.host}/team/both:other`)).rejects.toThrow(/is made for linux\/s390x/);
    await expect(images.bring(`${registry.host}/team/both:none`)).rejects.toThrow(/There is no image .*check its name and its tag/);
  });

  test('credentials are asked for, and what was had with them is not for others', async () => {
    await secured.push('team/secret', '1', { layers: [archive({ secret: 'secret' })] });
    const reference = `${secured.host}/team/secret:1`;
    await expect(images.bring(reference)).rejects.toThrow('does not let everybody read team/secret; give credentials');
    const wrong = { credentials: { ...testCredentials, password: 'wrong' } };
    await expect(images.bring(reference, wrong)).rejects.toThrow('does not let the given credentials read team/secret');
    const image = await images.bring(reference, { credentials: testCredentials });
    expect(existsSync(join(image.layers[0] ?? '', 'secret'))).toBe(true);
    // The same layer in a registry that everybody reads is another one here.
    await registry.push('team/claim', '1', { layers: [archive({ secret: 'secret' }, '--mtime=@0')] });
    expect((await images.bring(`${registry.host}/team/claim:1`)).layers[0]).not.toBe(image.layers[0]);
  });

  test('a registry on a private address is not asked unless the operator allows it', async () => {
    await expect(open('strict', []).bring(`${registry.host}/team/web:1`)).rejects.toThrow('127.0.0.1 is not a public address');
  });

  test('an image has to be signed where a key is given', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const { digest } = await registry.push('team/signed', '1', { layers: [archive({ signed: '1' })] });
    const reference = `${registry.host}/team/signed:1`;
    await expect(images.bring(reference, { publicKey: key })).rejects.toThrow('is not signed with the key');
    const sign = async (signed: string, tag = digest) => {
      const payload = Buffer.from(JSON.stringify({ critical: { image: { 'docker-manifest-digest': signed } } }));
      const signature = createSign('sha256').update(payload).sign(privateKey, 'base64');
      const blob = await registry.pushBlob('team/signed', payload);
      const empty = await registry.pushBlob('team/signed', Buffer.from('{}'));
      await registry.pushManifest('team/signed', `${tag.replace(':', '-')}.sig`, {
        schemaVersion: 2,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: empty, size: 2 },
        layers: [
          {
            mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
            digest: blob,
            size: payload.length,
            annotations: { 'dev.cosignproject.cosign/signature': signature },
          },
        ],
      } as { mediaType: string });
    };
    await sign(`sha256:${'0'.repeat(64)}`);
    await expect(images.bring(reference, { publicKey: key })).rejects.toThrow('is not signed with the key');
    await sign(digest);
    expect((await images.bring(reference, { publicKey: key })).digest).toBe(digest);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }).toString();
    await expect(images.bring(reference, { publicKey: other })).rejects.toThrow('is not signed with the key');
  });

  test('hostile layers are refused, or lead nowhere', async () => {
    const outside = join(folder, 'outside');
    mkdirSync(outside, { mode: 0o777 });
    const unpack = async (body: Buffer, limits?: Parameters<typeof unpackLayer>[4], diffId = digestOf(body)) => {
      const into = mkdtempSync(join(folder, 'unpack-'));
      execFileSync('chmod', ['755', folder, into]);
      const read = async () => Readable.from([body]);
      await unpackLayer({ name: 'hostile', mediaType: 'x.tar', diffId, read }, into, new AbortController().signal, undefined, limits);
      return join(into, 'root');
    };
    // A link to a folder of the machine, and then a file that would go through it.
    const linked = join(folder, 'linked');
    mkdirSync(linked);
    symlinkSync(outside, join(linked, 'way'));
    const link = execFileSync('tar', ['--create', '--file=-', `--directory=${linked}`, 'way']);
    const through = archive({ 'way/escaped': 'escaped' });
    const both = Buffer.concat([link.subarray(0, 512), through]);
    await unpack(both).catch(() => undefined);
    expect(readdirSync(outside)).toEqual([]);
    // Names that lead up, or begin at the root.
    for (const way of ['../../escaped', join(outside, 'escaped')])
      await unpack(archive({ escaped: 'x' }, '--absolute-names', `--transform=s,^escaped,${way},`)).catch(() => undefined);
    expect(readdirSync(outside)).toEqual([]);
    // Devices, except in /dev, which is left out.
    const devices = join(folder, 'devices');
    mkdirSync(join(devices, 'dev'), { recursive: true });
    execFileSync('mknod', [join(devices, 'dev/disk'), 'b', '8', '0']);
    const ofDevices = (...paths: string[]) => execFileSync('tar', ['--create', '--file=-', `--directory=${devices}`, ...paths]);
    expect(readdirSync(await unpack(ofDevices('dev')))).toEqual(['dev']);
    execFileSync('mknod', [join(devices, 'disk'), 'b', '8', '0']);
    await expect(unpack(ofDevices('disk'))).rejects.toThrow('A layer of hostile cannot be unpacked');
    await expect(unpack(archive({ 'a/.wh...': '' }))).rejects.toThrow('marks nothing that could be removed');
    // Too much, and something else than was said.
    const limits = { bytesMax: 20_480, filesMax: 3, secondsMax: 60 };
    await expect(unpack(archive({ big: 'x'.repeat(30_000) }), limits)).rejects.toThrow('hostile has more than 8 GiB');
    await expect(unpack(archive({ a: '', b: '', c: '', d: '' }), limits)).rejects.toThrow('hostile has more than 1000000 files');
    await expect(unpack(archive({ 'a/b/c/d/e': '' }), limits)).rejects.toThrow('hostile has more than 1000000 files');
    await expect(unpack(archive({ a: 'a' }), undefined, digestOf(Buffer.from('b')))).rejects.toThrow(
      'is not what the image says that it is',
    );
  });
});
