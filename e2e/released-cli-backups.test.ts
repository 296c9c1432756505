import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createInstallation } from './installation.ts';
import { firstPerson, openProject, read, successful } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 400_000;

/** Writes down what it is told, in a database and in a file, and has work of every kind. */
const ledgerFiles: Record<string, string> = {
  '.upsun/config.yaml': `
applications:
  ledger:
    type: nodejs:24
    build: {flavor: none}
    relationships:
      database: {service: db, endpoint: postgresql}
    mounts:
      files: {source: storage, source_path: files}
    web:
      commands: {start: node server.mjs}
    hooks:
      deploy: psql "$LEDGER" -qc 'create table if not exists notes (text text)'
    crons:
      tidy: {spec: 'H * * * *', commands: {start: echo tidy}}
    operations:
      count:
        role: viewer
        commands: {start: psql "$LEDGER" -Atc "select 'There are ' || count(*) || ' notes' from notes"}
    source:
      operations:
        stamp: {command: 'echo "$STAMP" > stamp && git add stamp && git commit -qm "Stamp it"'}
tasks:
  import:
    type: nodejs:24
    relationships:
      database: {service: db, endpoint: postgresql}
    run: {command: 'psql "$LEDGER" -qc "insert into notes values (''$NOTE'')" && echo imported', timeout: 60}
services:
  db: {type: 'postgresql:17'}
routes:
  https://{default}/: {type: upstream, upstream: 'ledger:http'}
`,
  '.environment': `export LEDGER="postgresql://$DATABASE_USERNAME:$DATABASE_PASSWORD@$DATABASE_HOST:$DATABASE_PORT/$DATABASE_PATH"\n`,
  'server.mjs': `
import { execFile } from 'node:child_process';
import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

const sql = async (statement) => (await promisify(execFile)('psql', [process.env.LEDGER, '-qAtc', statement])).stdout.trim();
const stamp = await readFile('stamp', 'utf8').catch(() => 'none');
createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://ledger');
  if (request.method === 'POST') {
    await sql("insert into notes values ('" + pathname.slice(1) + "')");
    await appendFile('files/notes', pathname.slice(1) + ',');
  }
  const notes = await sql("select string_agg(text, ',' order by text) from notes");
  response.end([notes, await readFile('files/notes', 'utf8').catch(() => ''), stamp.trim()].join(' | '));
}).listen(process.env.PORT);
`,
};

/** All that is stored, in many places; done twice, it is as before. */
async function spoilAll(folder: string) {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  expect(entries).not.toEqual([]);
  for (const { parentPath, name } of entries) {
    const path = join(parentPath, name);
    const content = (await readFile(path)).map((byte, at) => (at % 100 === 0 ? byte ^ 0xff : byte));
    await rm(path);
    await writeFile(path, content);
  }
}

test(
  'the released CLI backs up, restores and deletes; runs tasks, operations and source operations; shows crons; and knows what the operator found damaged',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const person = await firstPerson(installation.url, await installation.start());
    await using cli = await openReleasedCli(installation.url);
    const ledger = await openProject(person);
    await ledger.write(ledgerFiles, 'First');
    await ledger.push('main');
    successful(await ledger.lastActivity('main'));
    const run = async (command: string, ...args: string[]) => {
      const ended = await cli.run([command, '-p', ledger.project, ...args], person.apiToken);
      expect({ command, code: ended.code, said: ended.code === 0 ? '' : ended.stderr }).toEqual({ command, code: 0, said: '' });
      return ended;
    };
    const table = async (command: string, ...args: string[]) =>
      (await run(command, ...args, '--format', 'plain', '--no-header')).stdout.split('\n').filter((row) => row !== '');
    const address = await ledger.address('main');
    const note = (text: string) => visit(new URL(text, address).href, { method: 'POST' });
    const onMain = ['-e', 'main'];

    await note('one');
    const [, safe = ''] = /Backup name: (\S+)/.exec((await run('backup:create', ...onMain, '--yes')).stdout) ?? [];
    await note('two');
    const [, live = ''] = /Backup name: (\S+)/.exec((await run('backup:create', ...onMain, '--live', '--yes')).stdout) ?? [];
    expect(await table('backup:list', ...onMain, '-c', 'id,restorable,live')).toEqual([`${live}\ttrue\ttrue`, `${safe}\ttrue\tfalse`]);
    expect((await run('backup:get', ...onMain, safe, '-P', 'environment')).stdout.trim()).toBe('main');

    await note('three');
    await run('backup:restore', ...onMain, safe, '--yes');
    expect(await read(address, '/')).toBe('one | one, | none');
    await run('backup:restore', ...onMain, live, '--target', 'copy', '--branch-from', 'main', '--yes');
    expect(await read(await ledger.address('copy'), '/')).toBe('one,two | one,two, | none');
    await run('backup:delete', ...onMain, live, '--yes');
    expect(await table('backup:list', ...onMain, '-c', 'id')).toEqual([safe]);

    expect(await table('task:list', ...onMain)).toEqual([expect.stringMatching(/^import\tnodejs:24\t.*psql.*\t60$/)]);
    const imported = await run('task:run', ...onMain, 'import', '--variable', 'env:NOTE=from a task', '--wait', '--yes');
    expect(imported.stderr).toContain('imported');
    expect(await read(address, '/')).toBe('from a task,one | one, | none');

    expect(await table('operation:list', ...onMain, '-c', 'service,name,role')).toEqual(['ledger\tcount\tviewer']);
    expect((await run('operation:run', ...onMain, 'count', '--yes')).stderr).toContain('There are 2 notes');

    expect(await table('source-operation:list', ...onMain)).toEqual([expect.stringMatching(/^stamp\tledger\techo/)]);
    await run('source-operation:run', ...onMain, 'stamp', '--variable', 'env:STAMP=approved', '--yes');
    expect(await read(address, '/')).toBe('from a task,one | one, | approved');
    expect((await run('repo:cat', ...onMain, 'stamp')).stdout.trim()).toBe('approved');

    expect((await run('app:config-get', ...onMain, '-A', 'ledger', '-P', 'crons')).stdout).toMatch(/tidy:.*echo tidy/s);

    const packs = join(installation.data, 'backups', ledger.project, 'data');
    await spoilAll(packs);
    const operate = (...args: string[]) => installation.run(['backup', ...args]);
    const line = `${safe}  ${ledger.project}  main  `;
    expect(await operate('verify', ledger.project)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(new RegExp(`^${line}The copy of the backup .* damaged .* It cannot be restored any more\\.$`, 'm')),
    });
    expect(await table('backup:list', ...onMain, '-c', 'id,restorable')).toEqual([`${safe}\tfalse`]);
    expect(await cli.run(['backup:restore', '-p', ledger.project, ...onMain, safe, '--yes'], person.apiToken)).not.toMatchObject({
      code: 0,
    });
    expect((await operate('list', ledger.project)).stdout).toMatch(new RegExp(`^${safe} .* damaged `, 'm'));
    await spoilAll(packs);
    expect(await operate('verify', safe)).toMatchObject({ code: 0, stdout: `${line}ok: it is whole again, and can be restored\n` });
    expect(await ledger.api('GET', `/environments/main/backups/${safe}`)).toMatchObject({ restorable: true });
    await spoilAll(packs);
    const repaired = await operate('repair');
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringMatching(/^platform:\n {2}Nothing is damaged at /m) });
    expect(repaired.stdout).toMatch(
      new RegExp(
        `^${ledger.project}:\n  Damaged or missing at .*, and out of use now: data/.*\n  W: Backup ${safe} of main is damaged`,
        'm',
      ),
    );
    await ledger.act('/environments/main/backup', { safe: false });
    const [fresh, ...others] = await ledger.api('GET', '/environments/main/backups');
    expect([fresh, others]).toMatchObject([{ restorable: true }, [{ id: safe, restorable: false }]]);
    await run('backup:delete', ...onMain, safe, '--yes');
    expect(await operate('verify')).toMatchObject({ code: 0, stdout: `${fresh.id}  ${ledger.project}  main  ok\n` });
  },
);
