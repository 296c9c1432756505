import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestKnot, fixedZone, type TestKnot, testZone } from '../test-knot.ts';
import { canBringPrograms, whyNoPrograms } from '../test-programs.ts';
import { openDnsCommand } from './command.ts';
import { dnsRecordsConformance } from './conformance.ts';
import { nameServersOf } from './dns-view.ts';
import { openDynamicUpdate } from './dynamic-update.ts';
import { classes, numbers, recordBytes, types } from './message.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
let knot: TestKnot | undefined;

beforeAll(async () => {
  if (canBringPrograms) knot = await openTestKnot();
});
afterAll(async () => {
  await knot?.close();
  rmSync(folder, { recursive: true });
});

const running = () => knot as TestKnot;

const dynamic = (key = running().key) =>
  openDynamicUpdate({ server: { host: '127.0.0.1', port: running().port }, domains: [testZone, fixedZone], key });

const textsOf = (name: string) => running().textsOf(name);

dnsRecordsConformance(`dynamic update${whyNoPrograms}`, () => ({ records: dynamic(), domain: testZone, textsOf }), canBringPrograms);

/** A command that keeps a file for each record, in the place of a provider. */
const command = join(folder, 'dns-command');
writeFileSync(
  command,
  `#!/bin/sh
set -eu
file="${folder}/$2"
touch "$file"
grep -vxF -- "$3" "$file" >"$file.new" || true
[ "$1" != set ] || printf '%s\\n' "$3" >>"$file.new"
mv "$file.new" "$file"
`,
);
chmodSync(command, 0o755);

dnsRecordsConformance('a command of the operator', () => ({
  records: openDnsCommand({ command, domains: [testZone] }),
  domain: testZone,
  textsOf: (name) =>
    Promise.resolve(existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean) : []),
}));

describe.runIf(canBringPrograms)(`what a name server refuses is told in words${whyNoPrograms}`, () => {
  const name = `_acme-challenge.www.${testZone}`;

  test('a secret that is another one', async () => {
    const records = dynamic({ ...running().key, secret: Buffer.alloc(32).toString('base64') });
    await expect(records.set(name, 'value')).rejects.toThrow('has another secret for the key offshoot');
  });

  test('a key that it does not know', async () => {
    await expect(dynamic({ ...running().key, name: 'nobody' }).set(name, 'value')).rejects.toThrow(
      /to know the key|does not know the key nobody/,
    );
  });

  test('a key that may not do it', async () => {
    await expect(dynamic({ ...running().key, name: 'stranger' }).set(name, 'value')).rejects.toThrow(
      /does not let the key do that|does not take updates/,
    );
  });

  test('a zone that takes no updates, and one that it does not have', async () => {
    await expect(dynamic().set(`_acme-challenge.${fixedZone}`, 'value')).rejects.toThrow(/does not (let the key do that|take updates)/);
    await expect(dynamic().set('_acme-challenge.example.org', 'value')).rejects.toThrow('has no zone with _acme-challenge.example.org');
  });
});

test('nobody at the address, and somebody who is no name server', async () => {
  const deaf = createServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  );
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const { port } = deaf.address() as AddressInfo;
  const key = { name: 'k', algorithm: 'hmac-sha256', secret: '' } as const;
  const records = openDynamicUpdate({ server: { host: '127.0.0.1', port }, domains: ['example.org'], key });
  await expect(records.set('a.example.org', 'value')).rejects.toThrow(/cannot be reached|no name server/);
  await new Promise((resolve) => deaf.close(resolve));
  await expect(records.set('a.example.org', 'value')).rejects.toThrow(`cannot be reached at port ${port}`);
});

test('an answer that says yes counts only with a signature: anybody on the way could have written it', async () => {
  const zone = 'example.org';
  const soa = recordBytes({ name: zone, type: types.SOA, class: classes.IN, ttl: 60, data: Buffer.alloc(22) });
  const lying = createServer((socket) =>
    socket.on('data', (received: Buffer) => {
      const isQuery = (received.readUInt8(4) & 0x78) === 0;
      const header = numbers([received.readUInt16BE(2), 2], [0x8000, 2], [0, 2], [isQuery ? 1 : 0, 2], [0, 4]);
      const reply = Buffer.concat([header, ...(isQuery ? [soa] : [])]);
      socket.end(Buffer.concat([numbers([reply.length, 2]), reply]));
    }),
  );
  await new Promise<void>((resolve) => lying.listen(0, '127.0.0.1', resolve));
  const server = { host: '127.0.0.1', port: (lying.address() as AddressInfo).port };
  const records = openDynamicUpdate({ server, domains: [zone], key: { name: 'k', algorithm: 'hmac-sha256', secret: 'c2VjcmV0' } });
  await expect(records.set(zone, 'value')).rejects.toThrow('not signed with the key k');
  await new Promise((resolve) => lying.close(resolve));
});

describe('a command of the operator', () => {
  const script = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  };

  test('what it says when it fails is told', async () => {
    const records = openDnsCommand({ command: script('failing', 'echo "the token has expired" >&2; exit 3'), domains: ['example.org'] });
    await expect(records.set('_acme-challenge.example.org', 'v')).rejects.toThrow(
      'set _acme-challenge.example.org ended with 3: the token has expired',
    );
  });

  test('it is stopped when it takes too long', async () => {
    const records = openDnsCommand({ command: script('slow', 'exec sleep 60'), domains: ['example.org'], secondsMax: 0.2 });
    await expect(records.set('_acme-challenge.example.org', 'v')).rejects.toThrow('did not end within 0.2 seconds');
  });

  test('names and values are words, whatever they hold, and nothing that could be an option', async () => {
    const seen = join(folder, 'seen');
    const records = openDnsCommand({ command: script('telling', `printf '%s|' "$@" >'${seen}'`), domains: ['example.org'] });
    await records.set('a.example.org', 'x; $(touch /tmp/no) `id` "quoted"');
    expect(readFileSync(seen, 'utf8')).toBe('set|a.example.org|x; $(touch /tmp/no) `id` "quoted"|');
    for (const name of ['--help.example.org', 'a b.example.org', '../example.org', 'a.example.org\n'])
      await expect(records.set(name, 'v')).rejects.toThrow('is not valid for a TXT record');
    await expect(records.set('a.example.org', '--force')).rejects.toThrow('is not valid for a TXT record');
  });

  test('it sees nothing of the environment but what it is given', async () => {
    const seen = join(folder, 'environment');
    const records = openDnsCommand({ command: script('looking', `env >'${seen}'`), domains: ['example.org'], env: { TOKEN: 'secret' } });
    await records.set('a.example.org', 'v');
    const names = readFileSync(seen, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=', 1).join());
    expect(names.filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)).toSorted()).toEqual(['LC_ALL', 'PATH', 'TOKEN']);
  });
});

describe('name servers, which whoever has a zone chooses', () => {
  const zone = (hosts: readonly string[], addresses: (host: string) => string[]) => ({
    resolveNs: (name: string) => (name === 'example.org' ? Promise.resolve([...hosts]) : Promise.reject(new Error('ENODATA'))),
    resolve4: (host: string) => Promise.resolve(addresses(host)),
    resolve6: () => Promise.resolve([]),
  });
  const looking = (hosts: readonly string[], addresses: (host: string) => string[]) =>
    zone(hosts, addresses) as unknown as Parameters<typeof nameServersOf>[0];
  const isPublic = (address: string) => !address.startsWith('10.');

  test('are asked only at addresses that may be visited', async () => {
    const general = looking(['a.example.org', 'b.example.org'], (host) => (host.startsWith('a') ? ['10.0.0.1', '8.8.8.8'] : ['10.0.0.2']));
    expect(await nameServersOf(general, '_acme-challenge.www.example.org', isPublic)).toEqual(['8.8.8.8']);
  });

  test('are asked in a number that they cannot raise', async () => {
    const many = Array.from({ length: 500 }, (_, n) => `ns${n}.example.org`);
    const looked: string[] = [];
    const general = looking(many, (host) => {
      looked.push(host);
      return Array.from({ length: 50 }, (_, n) => `8.8.${looked.length}.${n}`);
    });
    expect((await nameServersOf(general, 'example.org', isPublic)).length).toBeLessThanOrEqual(26);
    expect(looked.length).toBe(13);
  });
});
