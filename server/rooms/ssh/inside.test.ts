/** Into running apps, with the programs that people have. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import type { Person } from '../../testing/platform.ts';
import { deployments } from '../deployments/room.ts';
import { resumeOrganization, suspendOrganization } from '../organizations/work.ts';
import { serveSsh } from './serve-ssh.ts';
import { openSessions } from './queries.ts';
import { openTestTerminal } from './test-terminal.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../testing/deployed-project.ts';
import { openSshClient, type SshClient } from '../../testing/ssh-client.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000, interval: 500 };

const content = (version: string): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    variables: { env: { COLOR: blue, VERSION: '${version}' } }
    mounts: { data: { source: storage, source_path: data }, uploads: { source: storage, source_path: uploads } }
    relationships: { store: 'cache:redis' }
    web: { commands: { start: exec node server.js } }
    workers:
      queue:
        access: { ssh: viewer }
        commands: { start: sleep infinity }
services: { cache: { type: "redis:8.0" }, other: { type: "redis:8.0" } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  '.environment': 'export FROM_FILE=yes; echo said by the file; export PATH="$PATH:/app/bin"',
  'server.js': `require('node:http').createServer((_, reply) => reply.end('{}')).listen(process.env.PORT, '0.0.0.0')`,
});

describe.runIf(canRunContainers)(`SSH into what runs${whyNoContainers}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-ssh-'));
  let all: TestDeployments;
  let project: Awaited<ReturnType<TestDeployments['project']>>;
  let door: Awaited<ReturnType<typeof serveSsh>>;
  let client: SshClient;
  let cluster: string;
  const at = (name: string) => `${cluster}--${name}@127.0.0.1`;
  const ssh = (command: string, input?: string | Buffer) => client.ssh('own', [at('app'), command], input);

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'redis:8.0']) await all.machine.images.ensure(type);
    door = await serveSsh(all.home.platform, { host: '127.0.0.1', sshPort: 0 });
    client = openSshClient(folder, door);
    project = await all.project();
    await colleague('own', 'admin');
    await project.push(content('one'));
    cluster = `${project.projectId}-${(await project.row()).machine_name}`;
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await door.close();
    await all.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A person with access to the project, and with a key of that name. */
  async function colleague(name: string, ...permissions: string[]): Promise<{ person: Person; keyId: number }> {
    const person = await all.home.person();
    const { json } = await project.owner.send('GET', `/projects/${project.projectId}`);
    await project.owner.send('POST', `/organizations/${json.organization}/members`, { user_id: person.user.id });
    await project.owner.send('POST', `/projects/${project.projectId}/user-access`, [{ user_id: person.user.id, permissions }]);
    return { person, keyId: await client.addKey(person, name) };
  }

  test('a command has the surroundings of the app, its own input and output, and an exit code', { timeout }, async () => {
    const told = await ssh(
      'echo $COLOR $FROM_FILE $HOME $PWD $(id -un) $PLATFORM_BRANCH $STORE_PORT; echo ${PATH##*:}; echo no >&2; exit 7',
    );
    expect({ ...told, stdout: told.stdout.toString() }).toEqual({
      code: 7,
      stdout: 'blue yes /app /app app main 6379\n/app/bin\n',
      stderr: 'said by the file\nno\n',
    });
    expect((await ssh('wc -c', 'twelve bytes')).stdout.toString().trim()).toBe('12');
    expect((await ssh('kill -TERM $$')).code).toBe(128 + 15);
    expect((await ssh('no-such-command')).code).toBe(127);
    expect((await client.ssh('own', [at('app--queue'), 'echo $PLATFORM_APPLICATION_NAME; pgrep -f infinity'])).code).toBe(0);
    expect((await client.ssh('own', [at('app--0'), 'echo instance $COLOR'])).stdout.toString()).toBe('instance blue\n');
  });

  test('df tells of a disk what was asked for and what is in it, however it is asked', { timeout }, async () => {
    const said = async (command: string) => (await ssh(`LC_ALL=C ${command}`)).stdout.toString();
    const clientsAsk = 'df -P -B1 -a -x squashfs -x tmpfs -x sysfs -x proc -x devpts -x rpc_pipefs -x cgroup -x fake-sysfs';
    const volume = (await all.machine.volumes.list()).find(({ name }) => name.endsWith('storage-app'));
    const mounted = async (at: string) => {
      const line = new RegExp(`^(\\S+) +(\\d+) +(\\d+) +(\\d+) +(\\d+)% ${at}$`, 'm').exec(await said(clientsAsk));
      const [size, used, available, percent] = (line ?? []).slice(2).map(Number);
      return { name: line?.[1], size, used, available, percent };
    };
    await expect.poll(() => mounted('/app/data'), waiting).toMatchObject({ name: volume?.name, size: volume?.bytesMax });
    const before = await mounted('/app/data');
    expect(before.available).toBe((before.size ?? 0) - (before.used ?? 0));
    await said('head -c 30000000 /dev/urandom >data/large; sync -f data');
    await expect.poll(async () => (await mounted('/app/data')).used, waiting).toBeGreaterThan((before.used ?? 0) + 29_000_000);
    const after = await mounted('/app/uploads');
    expect(after).toEqual(await mounted('/app/data'));

    const mebibytes = Math.ceil((after.size ?? 0) / 2 ** 20);
    const ways = ['df -m data', 'df --block-size=1M data', 'df -BM --output=source,size,target data', 'df -lmT /app/uploads/..//data'];
    for (const way of ways) expect(await said(way)).toMatch(new RegExp(`^${volume?.name} .* ${mebibytes}M? .*/app/(data|uploads)$`, 'm'));
    expect(await said('df -h data')).toMatch(/^Filesystem +Size +Used Avail Use% Mounted on\n\S+ +\d+M +\d\dM +\d+M +\d+% \/app\/data\n$/);
    expect(await said('df -k data')).toContain(` ${Math.ceil((after.size ?? 0) / 1024)} `);
    expect(await said('df -i data')).toMatch(/IUse% .*\n.* \/app\/data\n$/);
    expect(await said('df -t proc')).toMatch(/^Filesystem .*\n(\S+ .* \/proc\S*\n)*$|^$/);
    expect(await ssh('df nowhere')).toMatchObject({ code: 1, stderr: expect.stringContaining('df: nowhere: No such file or directory') });
    await said('rm data/large');
  });

  test('whatever bytes there are pass as they are, in both directions and on both streams at once', { timeout }, async () => {
    const bytes = randomBytes(3 * 2 ** 20);
    const back = await ssh('tee /tmp/bytes', bytes);
    expect(back.stdout.equals(bytes)).toBe(true);
    const both = await ssh('cat /tmp/bytes & base64 -w0 /tmp/bytes >&2; wait');
    expect(both.stdout.equals(bytes)).toBe(true);
    expect(both.stderr === `said by the file\n${bytes.toString('base64')}`).toBe(true);
  });

  test('who reads slowly makes the command wait, and gets all of it', { timeout }, async () => {
    const child = client.start('ssh', [...client.options('own'), at('app'), 'head -c 20000000 /dev/zero; date +%s >/tmp/written']);
    await once(child.stdout, 'readable');
    await sleep(1500);
    expect((await ssh('cat /tmp/written')).code).not.toBe(0);
    let received = 0;
    for await (const chunk of child.stdout) received += (chunk as Buffer).length;
    expect(received).toBe(20_000_000);
    expect((await ssh('cat /tmp/written')).code).toBe(0);
  });

  test('a terminal has a login shell, a size that changes, and signals', { timeout }, async () => {
    const terminal = spawnTerminal('ssh', [...client.options('own'), '-tt', at('app')], {
      cols: 91,
      rows: 31,
      env: { PATH: process.env['PATH'], TERM: 'vt220' },
    });
    let said = '';
    terminal.onData((data) => (said += data));
    const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
    const type = async (line: string, answer: RegExp) => {
      terminal.write(`${line}\r`);
      await expect.poll(() => said, waiting).toMatch(answer);
    };
    await expect.poll(() => said, waiting).toMatch(/app@app\.main:~\$/);
    await type(
      'stty size; echo $TERM $COLOR $FROM_FILE "${PATH##*:}"; shopt login_shell',
      /31 91\r\nvt220 blue yes \/app\/bin\r\nlogin_shell +\ton/,
    );
    terminal.resize(120, 40);
    await type('until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; stty size', /^40 120\r/m);
    await type('echo gr\u00fcn \u20ac | od -An -tx1', /67 72 c3 bc 6e 20 e2 82 ac/);
    terminal.write('sleep 4321\r');
    await expect.poll(async () => (await ssh('pgrep -f "sleep 432[1]"')).code, waiting).toBe(0);
    terminal.write('\u0003');
    await type('echo "[$?]"', /\[130\]/);
    terminal.write('exit 9\r');
    expect(await ended).toBe(9);
  });

  test('a client that goes away takes along what it started', { timeout }, async () => {
    const child = client.start('ssh', [...client.options('own'), at('app'), 'echo begun; sleep 4322; true']);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await expect.poll(async () => (await ssh('pgrep -f "sleep 432[2]"')).code, waiting).toBe(1);
  });

  test('files go over sftp, scp in both of its ways, and rsync', { timeout }, async () => {
    const bytes = randomBytes(300_000);
    mkdirSync(client.path('files/deep er'), { recursive: true });
    writeFileSync(client.path('files/deep er/file'), bytes);
    const options = client.options('own');
    const put = await client.run(
      'sftp',
      [...options, '-b', '-', at('app')],
      'cd data\nmkdir sftp\nput "files/deep er/file" sftp/file\nls -l sftp\nget sftp/file back-sftp\n',
    );
    expect({ ...put, stdout: put.stdout.toString() }).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 300000 .*sftp\/file/) });
    for (const [way, flags] of [
      ['scp', []],
      ['old', ['-O']],
    ] as const) {
      expect(await client.run('scp', [...options, ...flags, '-r', 'files', `${at('app')}:data/${way}`])).toMatchObject({ code: 0 });
      expect(await client.run('scp', [...options, ...flags, `${at('app')}:data/${way}/deep?er/file`, `back-${way}`])).toMatchObject({
        code: 0,
      });
    }
    const rsh = ['ssh', ...options].join(' ');
    expect(await client.run('rsync', ['-a', '-e', rsh, 'files/', `${at('app')}:data/rsync/`])).toMatchObject({ code: 0 });
    expect(await client.run('rsync', ['-a', '-e', rsh, `${at('app')}:data/rsync/`, 'back'])).toMatchObject({ code: 0 });
    for (const file of ['back-sftp', 'back-scp', 'back-old', 'back/deep er/file'])
      expect(readFileSync(client.path(file)).equals(bytes)).toBe(true);
  });

  describe('connections through it', () => {
    /** Says `ping` to what the tunnel leads to. */
    async function through(target: string, key = 'own', name = 'app') {
      const port = await freePort();
      const child = client.start('ssh', [...client.options(key), '-N', '-L', `127.0.0.1:${port}:${target}`, at(name)]);
      const errors = text(child.stderr);
      try {
        let answer = '';
        await expect
          .poll(async () => {
            const socket = connect(port, '127.0.0.1');
            socket.on('error', () => {}).on('data', (chunk) => (answer += chunk));
            if (
              !(await once(socket, 'connect').then(
                () => true,
                () => false,
              ))
            )
              return 'not yet';
            socket.end('PING\r\n');
            await once(socket, 'close');
            return answer === '' ? 'nothing' : 'something';
          })
          .not.toBe('not yet');
        return answer;
      } finally {
        child.kill();
        await errors;
      }
    }

    test('lead to what the app is told of, by the names and addresses it is told', { timeout }, async () => {
      const endpoints = JSON.parse(Buffer.from((await ssh('echo $PLATFORM_RELATIONSHIPS')).stdout.toString(), 'base64').toString());
      const [{ host, hostname, ip, port }] = endpoints.store;
      expect([host, port]).toEqual(['store.internal', 6379]);
      expect(await through(`${host}:${port}`)).toBe('+PONG\r\n');
      expect(await through(`${hostname}:${port}`)).toBe('+PONG\r\n');
      expect(await through(`${ip}:${port}`)).toBe('+PONG\r\n');
    });

    test('lead nowhere else, however it is written', { timeout }, async () => {
      const { stack_id } = await project.row();
      const address = async (service: string) => (await all.machine.runtime.state(`${stack_id}-service-${service}`)).address ?? '';
      const [cache, other] = [await address('cache'), await address('other')];
      const number = cache.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
      const outside = ['127.0.0.1:6379', 'localhost:6379', '0.0.0.0:6379', '169.254.169.254:80', '[::1]:6379', `[::ffff:${cache}]:6379`];
      const neighbours = [`${other}:6379`, 'other.internal:6379', 'app.internal:8888', `${cache}:22`, 'store.internal:6380'];
      const disguised = ['STORE.internal:6379', 'store.internal.:6379', 'cache.internal.evil:6379', `${number}:6379`, `0${cache}:6379`];
      const targets = [...outside, ...neighbours, ...disguised];
      const ports = await Promise.all(targets.map(() => freePort()));
      const forwards = targets.flatMap((target, n) => ['-L', `127.0.0.1:${ports[n]}:${target}`]);
      const child = client.start('ssh', [...client.options('own'), ...forwards, at('app'), 'echo begun; sleep 100']);
      const errors = text(child.stderr);
      await once(child.stdout, 'data');
      for (const n of targets.keys()) {
        const socket = connect(ports[n] ?? 0, '127.0.0.1');
        let answer = '';
        socket.on('error', () => {}).on('data', (chunk) => (answer += chunk));
        socket.write('PING\r\n');
        await new Promise((resolve) => socket.once('close', resolve));
        expect([targets[n], answer]).toEqual([targets[n], '']);
      }
      child.kill();
      expect((await errors).match(/open failed/g)).toHaveLength(targets.length);
    });

    test('are not had in the other direction, nor to sockets, agents or screens of the client', { timeout }, async () => {
      const asked = await client.ssh('own', ['-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:22', at('app'), 'echo in']);
      expect(asked).toMatchObject({ code: 255, stderr: expect.stringContaining('remote port forwarding failed') });
      expect((await client.ssh('own', ['-W', '127.0.0.1:22', at('app')])).stderr).toContain('open failed');
      expect((await client.ssh('own', ['-A', '-X', at('app'), 'echo "[$SSH_AUTH_SOCK$DISPLAY]"'])).stdout.toString()).toBe('[]\n');
    });
  });

  describe('who may', () => {
    test('is whoever has the role that the configuration asks for, in words that clients know', { timeout }, async () => {
      await colleague('viewer', 'viewer', 'production:viewer', 'development:admin');
      await colleague('contributor', 'production:contributor');
      await client.addKey(await all.home.person(), 'stranger');
      const attempt = async (key: string, name: string) => {
        const { code, stdout, stderr } = await client.ssh(key, [at(name), 'echo in']);
        return code === 0 ? stdout.toString().trim() : stderr.trim();
      };
      const refused = (name: string) =>
        new RegExp(
          `^Hello .*, you successfully authenticated, but could not connect to service ${cluster}--${name} \\(reason: service doesn't exist or you do not have access to it\\)$`,
        );
      expect(await attempt('contributor', 'app')).toBe('in');
      expect(await attempt('viewer', 'app')).toMatch(refused('app'));
      expect(await attempt('viewer', 'app--queue')).toBe('in');
      expect(await attempt('stranger', 'app')).toMatch(refused('app'));
      for (const name of ['none', 'app--1', 'app--none', 'cache', 'app--queue--3'])
        expect(await attempt('own', name)).toMatch(refused(name));
      expect((await client.ssh('viewer', ['-o', 'ExitOnForwardFailure=yes', '-W', 'store.internal:6379', at('app')])).stderr).toContain(
        'open failed',
      );
    });

    /** Deletes the person's key from the account, and has a certificate issued for it. */
    async function certify({ person, keyId }: { person: Person; keyId: number }, name: string) {
      await person.send('DELETE', `/ssh_keys/${keyId}`);
      const { json } = await person.send('POST', '/ssh', { key: readFileSync(client.path(`${name}.pub`), 'utf8') });
      writeFileSync(client.path(`${name}-cert.pub`), `${json.certificate}\n`);
    }

    test('needs what the organization asks of its people, whatever they come with', { timeout }, async () => {
      const somebody = await colleague('weak', 'production:admin');
      await certify(somebody, 'weak');
      expect((await client.ssh('weak', [at('app'), 'echo in'])).stdout.toString()).toBe('in\n');
      const { json } = await project.owner.send('GET', `/projects/${project.projectId}`);
      const enforce = (enforce_mfa: boolean) =>
        all.home.platform.db.updateTable('organizations').set({ enforce_mfa }).where('id', '=', json.organization).execute();
      await enforce(true);
      const refused = await client.ssh('weak', [at('app'), 'echo in']);
      await enforce(false);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('(reason: access requires MFA)') });
    });

    test('is nobody while the organization is suspended, and they are told why', { timeout }, async () => {
      const { platform } = all.home;
      const { json } = await project.owner.send('GET', `/projects/${project.projectId}`);
      await platform.db.transaction().execute((tx) => suspendOrganization(tx, platform, json.organization, 'October is not paid'));
      const refused = await client.ssh('own', [at('app'), 'echo in']);
      await platform.db.transaction().execute((tx) => resumeOrganization(tx, platform, json.organization));
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/is suspended \(October is not paid\): .*pay what is due/) });
      expect((await client.ssh('own', [at('app'), 'echo in'])).stdout.toString()).toBe('in\n');
    });

    test('sees it among the links of the environment', { timeout }, async () => {
      const { person } = await colleague('linked', 'production:viewer');
      const links = async (someone: Person) => {
        const { json } = await someone.send('GET', `/projects/${project.projectId}/environments/main`);
        return Object.fromEntries(Object.entries(json._links).filter(([rel]) => rel.startsWith('pf:ssh')));
      };
      const link = (name: string) => ({ href: `ssh://${cluster}--${name}@ssh.${all.home.platform.config.domain}` });
      expect(await links(project.owner)).toEqual({
        'pf:ssh:app': link('app'),
        'pf:ssh:app:0': link('app--0'),
        'pf:ssh:app--queue': link('app--queue'),
        'pf:ssh:app--queue:0': link('app--queue--0'),
      });
      expect(Object.keys(await links(person))).toEqual(['pf:ssh:app--queue', 'pf:ssh:app--queue:0']);
    });

    test('is asked again and again: access, key or account taken away closes what is open', { timeout }, async () => {
      const losses: Record<string, (of: { person: Person; keyId: number }) => Promise<unknown>> = {
        role: ({ person }) => project.owner.send('DELETE', `/projects/${project.projectId}/user-access/${person.user.id}`),
        key: ({ person, keyId }) => person.send('DELETE', `/ssh_keys/${keyId}`),
        token: async ({ person }) => {
          const [token] = (await person.send('GET', `/users/${person.user.id}/api-tokens`)).json;
          await person.send('DELETE', `/users/${person.user.id}/api-tokens/${token.id}`);
        },
        account: ({ person }) =>
          all.home.platform.db.updateTable('users').set({ deactivated: true }).where('id', '=', person.user.id).execute(),
      };
      for (const [name, lose] of Object.entries(losses)) {
        const somebody = await colleague(`loses-${name}`, 'production:admin');
        if (name === 'token') await certify(somebody, 'loses-token');
        const child = client.start('ssh', [...client.options(`loses-${name}`), at('app'), 'echo begun; sleep 4323']);
        const errors = text(child.stderr);
        await once(child.stdout, 'data');
        const listed = async () =>
          (await openSessions(all.home.platform.db, 100)).filter(({ user_id }) => user_id === somebody.person.user.id);
        expect(await listed()).toMatchObject([{ runs: 'app', instance: 0, environment_id: 'main', email: somebody.person.user.email }]);
        const closed = once(child, 'close');
        await lose(somebody);
        await closed;
        expect([name, await errors]).toEqual([name, expect.stringContaining('This session was closed: you no longer have access.')]);
        await expect.poll(listed, waiting).toEqual([]);
      }
      await expect.poll(async () => (await ssh('pgrep -f "sleep 432[3]"')).code, waiting).toBe(1);
    });
  });

  test('a person has twenty sessions and an instance fifty, and not one more, also when all come at once', { timeout }, async () => {
    const { person } = await colleague('many', 'production:admin');
    const { db } = all.home.platform;
    /** Writes down sessions as if they were open in another process of the installation. */
    const pretend = async (count: number, user_id: string, runs: string) => {
      const where = { project_id: project.projectId, environment_id: 'main', runs, instance: 0, address: '192.0.2.7', via: 'test' };
      const rows = Array.from({ length: count }, (_, n) => ({ id: `pretended-${n}`, user_id, ...where }));
      await db.insertInto('ssh_sessions').values(rows).execute();
    };
    /** How many of six get in, and what the others are told. Nobody leaves before all have come, however slow the machine is. */
    const storm = async () => {
      const gate = '/tmp/storm-is-over';
      await project.inside(`rm -f ${gate}`);
      const inside = () => db.selectFrom('ssh_sessions').select('id').where('via', '<>', 'test').execute();
      await expect.poll(inside, waiting).toEqual([]);
      let decided = 0;
      const comes = async () => {
        const child = client.start('ssh', [...client.options('many'), at('app'), `echo in; until [ -e ${gate} ]; do sleep 0.1; done`]);
        const [told, closed] = [text(child.stderr), once(child, 'close')];
        await Promise.race([once(child.stdout, 'data'), closed]);
        decided += 1;
        const [code] = await closed;
        return { code, told: (await told).trim() };
      };
      const coming = Promise.all(Array.from({ length: 6 }, comes));
      await expect.poll(() => decided, waiting).toBe(6);
      await project.inside(`touch ${gate}`);
      const refused = (await coming).filter(({ code }) => code !== 0);
      return { inside: 6 - refused.length, told: [...new Set(refused.map(({ told }) => told))] };
    };
    await pretend(18, person.user.id, 'app--queue');
    expect(await storm()).toEqual({ inside: 2, told: ['You have 20 sessions open already; close one first.'] });
    await db.deleteFrom('ssh_sessions').where('via', '=', 'test').execute();
    await pretend(49, project.owner.user.id, 'app');
    expect(await storm()).toEqual({ inside: 1, told: ['app has 50 sessions open already; try again when somebody has left.'] });
    await db.deleteFrom('ssh_sessions').where('via', '=', 'test').execute();
    expect((await client.ssh('many', [at('app'), 'echo in'])).code).toBe(0);
  });

  test('whoever comes to one that sleeps wakes it, and keeps it awake while they are there', { timeout }, async () => {
    const { platform } = all.home;
    const sendToSleep = deployments.reconcilers!.find(({ name }) => name === 'send idle previews to sleep')!;
    const waker = deployments.listeners!.find(({ name }) => name === 'wake previews that are visited')!;
    const change = (columns: { type: string; sleep_after_seconds?: number }) =>
      platform.db.updateTable('environments').set(columns).where('project_id', '=', project.projectId).execute();
    const isAsleep = async () => (await project.row()).sleeping_since !== null;
    const hearing = new AbortController();
    await change({ type: 'development', sleep_after_seconds: 1 });
    const listening = waker.listen(platform, hearing.signal);
    try {
      // Those who were there before have left.
      await expect.poll(() => openSessions(platform.db, 100), waiting).toEqual([]);
      await sleep(1100);
      await sendToSleep.run(platform, hearing.signal);
      expect([await isAsleep(), (await project.found()).containers]).toEqual([true, []]);
      const woken = await client.ssh('own', [at('app'), 'echo $VERSION; sleep 2']);
      expect([woken.code, woken.stdout.toString(), await isAsleep()]).toEqual([0, 'one\n', false]);
      const child = client.start('ssh', [...client.options('own'), at('app'), 'echo begun; sleep 4325']);
      await once(child.stdout, 'data');
      await sleep(1100);
      await sendToSleep.run(platform, hearing.signal);
      expect(await isAsleep()).toBe(false);
      child.kill('SIGKILL');
    } finally {
      hearing.abort();
      await listening;
      await change({ type: 'production', sleep_after_seconds: 0 });
    }
  });

  test('a terminal in a browser is the same shell, with the same rights, and ends with them', { timeout }, async () => {
    const { http, platform } = all.home;
    const address = await http.listen({ host: '127.0.0.1', port: 0 });
    const origin = new URL(platform.config.url).origin;
    const path = `/projects/${project.projectId}/environments/main`;
    const asks = (person: Person, destination: string) => person.send('POST', `${path}/terminals`, { destination });
    const opens = async (person: Person, destination: string) => {
      const { json } = await asks(person, destination);
      return openTestTerminal(address, origin, json.ticket);
    };
    const { person: admin } = await colleague('browser-admin', 'production:admin');
    const { person: viewer } = await colleague('browser-viewer', 'production:viewer');
    expect((await admin.send('GET', path)).json._links).toHaveProperty('#terminal');
    // A viewer gets into the worker, whose configuration lets viewers in, and into nothing else.
    expect((await asks(viewer, 'app')).status).toBe(403);
    expect((await asks(admin, 'no-such-app')).status).toBe(403);
    const worker = await opens(viewer, 'app--queue');
    worker.type('echo worker of $PLATFORM_BRANCH; exit 3\n');
    expect(await worker.closed).toMatchObject({ exitCode: 3, said: expect.stringContaining('worker of main') });

    const terminal = await opens(admin, 'app');
    terminal.resize(91, 31);
    terminal.type('stty size; echo $((6 * 7)) $COLOR\n');
    await expect.poll(() => terminal.said(), waiting).toMatch(/31 91[^]*42 blue/);
    const listed = (await openSessions(platform.db, 100)).filter(({ user_id }) => user_id === admin.user.id);
    expect(listed).toMatchObject([{ runs: 'app', instance: 0, environment_id: 'main', address: '127.0.0.1' }]);
    await project.owner.send('DELETE', `/projects/${project.projectId}/user-access/${admin.user.id}`);
    expect((await terminal.closed).said).toContain('This session was closed: you no longer have access.');
    await expect
      .poll(async () => (await openSessions(platform.db, 100)).map(({ user_id }) => user_id), waiting)
      .not.toContain(admin.user.id);
  });

  test('names and commands that make no sense are refused, whatever is in them', { timeout }, async () => {
    const oddNames = [
      '',
      'app;id',
      '../app',
      'app\u0000',
      'app\u001b[2J',
      'APP',
      'app ',
      'app--0x0',
      'app--00',
      'app--',
      'x'.repeat(3000),
    ].map((rest) => `${cluster}--${rest}`);
    for (const name of [...oddNames, '--', '--app', `x--${cluster}--app`, `${cluster}\n--app`, `${project.projectId}-main--app`]) {
      const { code, output, errors } = await client.raw('own', name, 'echo in');
      expect([name, code, output]).toEqual([name, 1, '']);
      expect(errors).toMatch(/^Hello [^]*could not connect to service [\w.?-]{1,100} \(reason/);
    }
    expect(await client.raw('own', `${cluster}--app`, 'echo a\0b')).toMatchObject({ code: 1, errors: expect.stringContaining('NUL') });
    expect((await ssh(`echo ${'x'.repeat(29_000)} | wc -c`)).stdout.toString().trim()).toBe('29001');
    expect(await ssh(`echo ${'x'.repeat(31_000)}`)).toMatchObject({ code: 1, stderr: expect.stringContaining('30000 bytes') });
    expect((await ssh(`echo ${'x'.repeat(101_000)}`)).code).toBe(255);
    const env = ['-o', 'SetEnv=LD_PRELOAD=/x PLATFORM_BRANCH=y GIT_PROTOCOL=z'];
    expect((await client.ssh('own', [...env, at('app'), 'echo "[$LD_PRELOAD$PLATFORM_BRANCH$GIT_PROTOCOL]"'])).stdout.toString()).toBe(
      '[main]\n',
    );
    expect((await client.ssh('own', ['-s', at('app'), 'netconf'])).code).not.toBe(0);
  });

  test('a redeployment, a pause and an end are told to those inside, and to those who come later', { timeout }, async () => {
    const child = client.start('ssh', [...client.options('own'), at('app'), 'echo begun; sleep 4324']);
    const errors = text(child.stderr);
    await once(child.stdout, 'data');
    await project.push(content('two'));
    expect(await errors).toContain('This instance of app was replaced or stopped; connect again');
    expect((await ssh('echo $VERSION')).stdout.toString()).toBe('two\n');
    await project.does('pause');
    expect(await ssh('echo in')).toMatchObject({ code: 1, stderr: 'The environment main is paused: resume it first.\n' });
    await project.does('resume');
    expect((await ssh('echo $VERSION')).stdout.toString()).toBe('two\n');
  });
});
