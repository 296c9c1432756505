/** A name server with a zone that takes updates, for tests. */
import { randomBytes } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openDnsView } from './dns/dns-view.ts';
import type { SigningKey } from './dns/signature.ts';
import { freePort } from './test-ports.ts';
import { runProgram } from './test-programs.ts';

/** Every name in this zone leads to this machine, unless a test sets something else. */
export const testZone = 'offshoot.test';
/** Another zone of the same server, in which nothing may be changed. */
export const fixedZone = 'fixed.test';

const zoneText = (zone: string, records: readonly string[]) =>
  [`$ORIGIN ${zone}.`, '$TTL 60', '@ SOA ns admin 1 3600 600 86400 60', '@ NS ns', 'ns A 127.0.0.1', '* A 127.0.0.1', ...records, ''].join(
    '\n',
  );

const settings = (folder: string, port: number, { name, algorithm, secret }: SigningKey) => `
server:
    rundir: ${folder}
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: warning
key:
  - id: ${name}
    algorithm: ${algorithm}
    secret: ${secret}
  - id: stranger
    algorithm: ${algorithm}
    secret: ${secret}
acl:
  - id: changes
    key: ${name}
    action: update
database:
    storage: ${folder}/database
template:
  - id: default
    storage: ${folder}
    file: "%s.zone"
    zonefile-sync: -1
zone:
  - domain: ${testZone}
    acl: changes
  - domain: ${fixedZone}
`;

export async function openTestKnot() {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  mkdirSync(join(folder, 'database'));
  const key: SigningKey = { name: 'offshoot', algorithm: 'hmac-sha256', secret: randomBytes(32).toString('base64') };
  const port = await freePort();
  const server = `127.0.0.1:${port}`;
  writeFileSync(join(folder, 'knot.conf'), settings(folder, port, key));
  writeFileSync(
    join(folder, `${testZone}.zone`),
    zoneText(testZone, ['ready TXT "yes"', '_acme-challenge.delegated CNAME delegated.proofs']),
  );
  writeFileSync(
    join(folder, `${fixedZone}.zone`),
    zoneText(fixedZone, [`alias CNAME here.${testZone}.`, 'elsewhere A 192.0.2.7', 'empty TXT "no address"']),
  );
  const program = await runProgram('knotd', ['--config', join(folder, 'knot.conf')]);
  const view = openDnsView({ servers: [server] });
  while (!(await view.hasText(`ready.${testZone}`, 'yes'))) {
    if (program.process.exitCode !== null) throw new Error(program.said());
    await pause(50);
  }
  return {
    server,
    port,
    key,
    said: program.said,
    /** The TXT records that a name has. */
    textsOf: async (name: string): Promise<string[]> => {
      const resolver = new Resolver();
      resolver.setServers([server]);
      const records = await resolver.resolveTxt(name).catch(() => []);
      return records.map((pieces) => pieces.join(''));
    },
    close: async () => {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type TestKnot = Awaited<ReturnType<typeof openTestKnot>>;
