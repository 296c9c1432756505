import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogue, offerDescribed } from '../../catalogue/catalogue.ts';
import { openTestRegistry, type TestRegistry } from '../../drivers/images/oci/test-registry.ts';
import { openOutbound } from '../../drivers/outbound/outbound.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { addServiceType, followServiceTypes, removeServiceType } from './service-types.ts';

const timeout = 300_000;

/** Each image has a name of its own: what a name stands for is kept from run to run. */
const name = `notes-${Date.now().toString(36)}`;

/** A server of notes over HTTP, made of nothing but BusyBox: who knows the token reads them all, and adds one by asking for `?<note>`. */
const server = `#!/bin/busybox sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
[ "$HTTP_TOKEN" = "$(busybox cat /var/lib/notes/token)" ] || { echo refused; exit; }
[ -z "$QUERY_STRING" ] || echo "$QUERY_STRING" >>/var/lib/notes/store/notes
busybox cat /var/lib/notes/store/notes
`;

function imageOfNotes(): Buffer {
  const root = mkdtempSync(join(tmpdir(), 'offshoot-notes-'));
  try {
    for (const folder of ['bin', 'srv/cgi-bin']) mkdirSync(join(root, folder), { recursive: true });
    copyFileSync(execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim(), join(root, 'bin/busybox'));
    for (const program of ['sh', 'mkdir', 'mv', 'sleep', 'sync']) symlinkSync('busybox', join(root, 'bin', program));
    writeFileSync(join(root, 'srv/cgi-bin/notes'), server);
    for (const program of ['bin/busybox', 'srv/cgi-bin/notes']) chmodSync(join(root, program), 0o755);
    return execFileSync('tar', ['--create', '--directory', root, '.'], { maxBuffer: 2 ** 26 });
  } finally {
    rmSync(root, { recursive: true });
  }
}

const description = (image: string, more = '') => `
name: notes
profile: BALANCED
versions:
  1.10: { image: '${image}' }
port: 8080
scheme: http
query: { token: '{password}' }
data: { folder: /var/lib/notes }
set_up:
  commands: [{ run: [mkdir, -p, /var/lib/notes/new] }, { run: [mv, /var/lib/notes/new, /var/lib/notes/store] }]
  makes: store
start: [busybox, httpd, -f, -p, '8080', -h, /srv]
snapshot: { before: [{ run: [sync] }] }
accounts:
  account: main
  database: main
  run: [sh]
  each_account: printf %s '{password}' >/var/lib/notes/token
${more}`;

const app = `
const [notes] = JSON.parse(Buffer.from(process.env.PLATFORM_RELATIONSHIPS, 'base64')).notes;
require('node:http').createServer(async (request, reply) => {
  const wanted = new URL(request.url, 'http://app');
  const token = wanted.searchParams.get('token') ?? notes.query.token;
  const asked = await fetch('http://' + notes.host + ':' + notes.port + '/cgi-bin/notes?' + (wanted.searchParams.get('note') ?? ''), { headers: { token } });
  reply.end(JSON.stringify({ said: await asked.text(), token: notes.query.token, username: notes.username }));
}).listen(process.env.PORT, '0.0.0.0');
`;

const files = (type = 'notes:1.10') => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    build: { flavor: none }
    relationships: { notes: }
    web: { commands: { start: exec node server.js } }
services: { notes: { type: '${type}' } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'server.js': app,
});

describe.runIf(canRunContainers)(`a service type that the operator described${whyNoContainers}`, () => {
  let all: TestDeployments;
  let registry: TestRegistry;
  let unfollow: () => void = () => {};
  beforeAll(async () => {
    registry = await openTestRegistry();
    await registry.push(name, '1', { layers: [imageOfNotes()] });
    all = await openTestDeployments(undefined, {
      outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }),
      plainRegistries: [registry.host],
    });
    await all.machine.images.ensure('nodejs:24');
  }, 600_000);
  afterAll(async () => {
    unfollow();
    offerDescribed({});
    await all.close();
    await registry.stop();
  });

  test('runs from its image, is reached by an app, keeps its data, and goes with a branch', { timeout }, async () => {
    const { db, notices } = all.home.platform;
    const project = await all.project();
    expect((await project.attempt(files())).log).toContain('expected one of');
    unfollow = await followServiceTypes(db, notices, { error: () => {} });
    expect(await addServiceType(db, description(`${registry.host}/${name}:1`))).toEqual({ name: 'notes', types: ['notes:1.10'] });
    await expect.poll(() => Object.keys(catalogue)).toContain('notes');

    expect(await project.push(files())).not.toContain('untried');
    const ask = async (query: string, environment = 'main') => {
      const [first] = await project.instances(environment);
      if (!first || 'socket' in first.address) throw new Error('There is no instance');
      const reply = await fetch(`http://${first.address.host}:${first.address.port}/${query}`);
      return (await reply.json()) as { said: string; token: string; username: string };
    };
    const { said, token, username } = await ask('?note=first');
    expect([said, username]).toEqual(['first\n', 'main']);
    expect((await ask('?token=guessed')).said).toBe('refused\n');

    await project.does('pause');
    await project.does('resume');
    expect((await ask('?note=second')).said).toBe('first\nsecond\n');

    await project.addEnvironment('branch');
    await project.push(files(), { environment: 'branch', cloneFrom: 'main' });
    const branched = await ask('?note=only-here', 'branch');
    expect(branched.said).toBe('first\nsecond\nonly-here\n');
    expect(branched.token).not.toBe(token);
    expect((await ask(`?token=${token}`, 'branch')).said).toBe('refused\n');
    expect((await ask('')).said).toBe('first\nsecond\n');

    await expect(removeServiceType(db, 'notes')).rejects.toThrow(/in use: branch of .*main of/s);
    const without = description(`${registry.host}/${name}:1`).replace('1.10', '2');
    await expect(addServiceType(db, without)).rejects.toThrow('in use');
  });

  test('is refused under the name of a type that is built in, and with whatever else is wrong', async () => {
    const { db } = all.home.platform;
    await expect(addServiceType(db, description('docker.io/library/x:1').replace('notes', 'postgresql'))).rejects.toThrow(/another name/);
    await expect(addServiceType(db, description('docker.io/library/x:1', 'colour: blue'))).rejects.toThrow('colour is not a known field');
    await expect(removeServiceType(db, 'opensearch')).rejects.toThrow('cannot be removed');
    await expect(removeServiceType(db, 'nothing')).rejects.toThrow('no service type nothing');
  });

  test('can be changed and removed while nothing uses it', async () => {
    const { db } = all.home.platform;
    await addServiceType(db, description('docker.io/library/x:1').replace('notes', 'unused'));
    await addServiceType(db, description('docker.io/library/x:2').replace('notes', 'unused'));
    await expect.poll(() => catalogue['unused']?.versions[0]?.image).toBe('docker.io/library/x:2');
    await removeServiceType(db, 'unused');
    await expect.poll(() => catalogue['unused']).toBeUndefined();
  });
});
