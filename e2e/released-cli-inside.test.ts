import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { createInstallation } from './installation.ts';
import { firstPerson, openProject, successful } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';

/** Each command starts the client anew, on some machines in an emulator; two at a time. */
const flowMilliseconds = 400_000;
const tunnelSecondsMax = 60;

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    relationships: {database: 'db:postgresql'}
    mounts: {files: {source: storage, source_path: files}}
    web: {commands: {start: exec node server.mjs}}
    workers: {clerk: {commands: {start: sleep infinity}}}
    operations: {tell: {role: viewer, commands: {start: 'pgrep -f server.mjs >/dev/null && echo told by the app'}}}
services:
  db: {type: 'postgresql:18'}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.mjs': `
import { createServer } from 'node:http';
console.log('The server has started');
createServer((request, response) => response.end('here')).listen(Number(process.env.PORT));
`,
};

test(
  'the released CLI gets into an environment: ssh, relationships, db:sql, db:dump, tunnels, mounts, logs and scp',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const person = await firstPerson(installation.url, await installation.start());
    await using cli = await openReleasedCli(installation.url, installation.sshPort);
    const project = await openProject(person);
    await project.write(files, 'Begin');
    await project.push('main');
    successful(await project.lastActivity('main'));

    const where = ['-p', project.project, '-e', 'main'];
    const run = async (command: string, ...args: string[]) => {
      const ended = await cli.run([command, ...where, ...args], person.apiToken, cli.home);
      expect({ command, ...ended }).toMatchObject({ code: 0 });
      return ended.stdout;
    };
    const local = (name: string) => join(cli.home, name);
    const bytes = randomBytes(100_000);
    await mkdir(local('up'));
    await writeFile(local('up/picture'), bytes);

    // One after the other: it asks for a certificate once, and keeps it.
    const inside = await cli.run(['ssh', ...where, '-A', 'app', 'echo $PLATFORM_BRANCH in $PWD; exit 4'], person.apiToken, cli.home);
    expect(inside).toMatchObject({ code: 4, stdout: 'main in /app\n' });

    const [clerk, relationships] = await Promise.all([
      run('ssh', '--worker', 'clerk', 'echo $PLATFORM_APPLICATION_NAME; pgrep -c sleep'),
      run('relationships', '-A', 'app', '-P', 'database.0.host'),
    ]);
    expect(clerk).toMatch(/^app\n[1-9]/);
    expect(relationships.trim()).toBe('database.internal');

    const [counted] = await Promise.all([
      run(
        'db:sql',
        '-A',
        'app',
        '--raw',
        'create table guests (n int); insert into guests values (1), (2); select count(*) as guests from guests',
      ),
      run('mount:upload', '-A', 'app', '--mount', 'files', '--source', local('up'), '--yes'),
    ]);
    expect(counted).toMatch(/INSERT 0 2\s+2\s/);
    // Of the newest PostgreSQL that there is, which no older pg_dump would read.
    const [, told] = await Promise.all([
      run('db:dump', '-A', 'app', '--file', local('dump.sql')),
      cli.run(['operation:run', ...where, 'tell', '--yes'], person.apiToken, cli.home),
    ]);
    expect(told).toMatchObject({ code: 0, stderr: expect.stringMatching(/ran operation tell of app on Main.*told by the app/s) });
    await run('db:sql', '-A', 'app', '--raw', 'drop table guests');
    const dump = await readFile(local('dump.sql'), 'utf8');
    expect(await cli.run(['db:sql', ...where, '-A', 'app'], person.apiToken, cli.home, dump)).toMatchObject({ code: 0 });
    expect(await run('db:sql', '-A', 'app', '--raw', 'select count(*) from guests')).toMatch(/^\s*2\s/);
    const [log] = await Promise.all([
      run('environment:logs', '-A', 'app', 'app', '--lines', '20'),
      run('mount:download', '-A', 'app', '--mount', 'files', '--target', local('down'), '--yes'),
    ]);
    expect(log).toContain('The server has started');
    expect((await readFile(local('down/picture'))).equals(bytes)).toBe(true);

    const sizes = await run('mount:size', '-A', 'app', '--bytes', '--format', 'tsv', '--no-header');
    const [mount, size, disk, used, available] = sizes.trim().split('\t');
    expect({ mount, disk }).toEqual({ mount: 'files', disk: String(512 * 2 ** 20) });
    expect(Number(size)).toBeGreaterThanOrEqual(bytes.length);
    expect(Number(used) + Number(available)).toBe(Number(disk));

    // What it leaves running holds on to its output.
    const opening = cli.converse(['tunnel:open', ...where, '-A', 'app', '--yes'], person.apiToken);
    const [opened] = await Promise.all([
      opening.until(/@127\.0\.0\.1:\d+\//),
      run('environment:scp', '-A', 'app', 'remote:files/picture', local('copied')),
    ]);
    expect((await readFile(local('copied'))).equals(bytes)).toBe(true);
    const port = Number(/:(\d+)/.exec(opened)?.[1]);
    await eventually(
      'the tunnel leads to PostgreSQL',
      async () => (await answerOfPostgres(port)) === 'N',
      tunnelSecondsMax,
      () => opening.said,
    );
    const closing = cli.converse(['tunnel:close', '--all', '--yes'], person.apiToken);
    expect(await closing.untilEnded()).toBe(0);
    // The client has told the tunnel to end, and does not wait for it.
    await eventually('the tunnel is closed', async () => (await answerOfPostgres(port)).includes('ECONNREFUSED'), tunnelSecondsMax);
  },
);

/** Whether it would speak TLS: it has no certificate, and says so in one letter. */
async function answerOfPostgres(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.from('0000000804d2162f', 'hex'));
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString();
    socket.end();
  });
  socket.on('error', (error) => (answer = String(error)));
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}
