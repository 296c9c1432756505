import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openTestPlatform } from '../../testing/platform.ts';

const { person, send } = await openTestPlatform();
const ada = await person();
const folder = mkdtempSync(join(tmpdir(), 'offshoot-ssh-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string) => join(folder, name);
const keygen = (...args: string[]) => execFileSync('ssh-keygen', args, { encoding: 'utf8' });

test.each([
  ['ed25519', '256'],
  ['ecdsa', '521'],
  ['rsa', '2048'],
])('a certificate for %s of %s bits is one that OpenSSH reads, signed by the published authority', async (type, bits) => {
  const key = file(`${type}-${bits}`);
  keygen('-q', '-t', type, '-b', bits, '-N', '', '-C', 'ada lovelace', '-f', key);
  const { status, json } = await ada.send('POST', '/ssh', { key: readFileSync(`${key}.pub`, 'utf8') });
  expect(status).toBe(200);
  writeFileSync(`${key}-cert.pub`, json.certificate);

  const listed = keygen('-L', '-f', `${key}-cert.pub`);
  const [authority = ''] = (await send({ url: '/ssh/authority' })).json.authorities;
  writeFileSync(file('authority.pub'), authority);
  const fingerprint = keygen('-l', '-f', file('authority.pub')).split(' ')[1];
  expect(listed).toContain('user certificate');
  expect(listed).toContain(`Key ID: "${ada.user.id}"`);
  expect(listed).toMatch(new RegExp(String.raw`Principals:\s+${ada.user.id}\s+Critical Options: \(none\)`));
  expect(listed).toContain(`Signing CA: ED25519 ${fingerprint}`);
  expect(listed.match(/permit-[\w-]+/g)).toHaveLength(5);
  const [, from = '', to = ''] = /from (\S+) to (\S+)/.exec(listed) ?? [];
  expect(Date.parse(to) - Date.parse(from)).toBe(3660 * 1000);
});

test('a certificate opens a door that trusts the authority, and no other', async () => {
  const key = file('door');
  keygen('-q', '-t', 'ed25519', '-N', '', '-f', key);
  const { json } = await ada.send('POST', '/ssh', { key: readFileSync(`${key}.pub`, 'utf8') });
  writeFileSync(`${key}-cert.pub`, json.certificate);
  const [authority = ''] = (await send({ url: '/ssh/authority' })).json.authorities;
  const verify = (trusted: string) => {
    writeFileSync(file('signers'), `${ada.user.id} cert-authority ${trusted}\n`);
    rmSync(file('letter.sig'), { force: true });
    writeFileSync(file('letter'), 'hello');
    keygen('-q', '-Y', 'sign', '-n', 'test', '-f', `${key}-cert.pub`, file('letter'));
    return execFileSync('ssh-keygen', ['-Y', 'verify', '-n', 'test', '-I', ada.user.id, '-f', file('signers'), '-s', file('letter.sig')], {
      input: 'hello',
      encoding: 'utf8',
      stdio: 'pipe',
    });
  };
  expect(verify(authority)).toContain('Good "test" signature');
  keygen('-q', '-t', 'ed25519', '-N', '', '-f', file('other'));
  expect(() => verify(readFileSync(file('other.pub'), 'utf8').trim())).toThrow('Command failed');
});

test('what is no public key is refused, and says so', async () => {
  keygen('-q', '-t', 'rsa', '-b', '1024', '-N', '', '-f', file('weak'));
  keygen('-q', '-t', 'ed25519', '-N', '', '-f', file('good'));
  const good = readFileSync(file('good.pub'), 'utf8').trim();
  const [type = '', base64 = ''] = good.split(' ');
  const [weak, secret] = [readFileSync(file('weak.pub'), 'utf8'), readFileSync(file('good'), 'utf8')];
  const offCurve = Buffer.concat([
    Buffer.from('\0\0\0\x13ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41\x04', 'latin1'),
    Buffer.alloc(64, 7),
  ]);
  const refused = [
    '',
    'rubbish',
    type,
    `${type} AAAA`,
    `ssh-rsa ${base64}`,
    `${type} ${base64}AAAA`,
    `${type} ${base64.slice(0, -4)}`,
    `no-pty ${good}`,
    `${good}\n${good}`,
    weak,
    secret,
    `ecdsa-sha2-nistp256 ${offCurve.toString('base64')}`,
    `constructor ${base64}`,
  ];
  for (const key of refused) {
    const { status, json } = await ada.send('POST', '/ssh', { key });
    expect({ key, status, detail: json.detail }).toEqual({
      key,
      status: 400,
      detail: { key: expect.stringContaining('must be an SSH public key') },
    });
  }
});
