import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, type Installation } from './installation.ts';
import { firstPerson, openProject, read, successful, type Person, type Project } from './open-project.ts';
import type { RunningPlatform } from './running-platform.ts';
import { visit } from './visit.ts';

/** Writes down what it is told, and tells it to everybody. */
const noteFiles: Record<string, string> = {
  '.upsun/config.yaml': `
applications:
  notes:
    type: nodejs:24
    build: {flavor: none}
    mounts:
      files: {source: storage, source_path: files}
    web:
      commands: {start: node server.mjs}
routes:
  https://{default}/: {type: upstream, upstream: 'notes:http'}
`,
  'server.mjs': `
import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
createServer(async ({ method, url }, response) => {
  if (method === 'POST') await appendFile('files/notes', url.slice(1) + ',');
  response.end((await readFile('files/notes', 'utf8').catch(() => '')) + process.env.COLOUR);
}).listen(process.env.PORT);
`,
};

/** Platforms are started four times, of two installations. */
const drillMilliseconds = 800_000;
const returnSecondsMax = 120;
const sleepSecondsMax = 90;

async function said(run: Installation['run'], args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(args, input === undefined ? {} : { input });
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

test(
  'an installation comes back from its backup: on a machine that has nothing, and on one where only its volumes are left; a backup of it becomes one of another',
  { timeout: drillMilliseconds },
  async () => {
    const kept = await mkdtemp(join(tmpdir(), 'offshoot-kept-'));
    try {
      await using installation = await createInstallation({ ...plainHttp, OFFSHOOT_BACKUPS: kept });
      const drill = await begin(installation);
      const addresses = await branchOff(drill.notes);
      const backedUp = await backUp(installation, drill);
      await loseEverything(installation, drill);
      // What was not active is not worth a word.
      expect(await comeBack(installation, backedUp)).not.toContain(' off: ');
      drill.started = await installation.start();
      await expectAsBefore(installation, drill, backedUp);
      await expectAtRest(drill.notes, addresses);
      await exportToAnother(installation.run, backedUp, kept);
      await loseAllButVolumes(installation, drill, backedUp);
    } finally {
      await rm(kept, { recursive: true, force: true });
    }
  },
);

interface Drill {
  started: RunningPlatform;
  person: Person;
  notes: Project;
  address: string;
}

const note = ({ address }: Drill, text: string) => visit(new URL(text, address).href, { method: 'POST' });

async function begin(installation: Installation): Promise<Drill> {
  const started = await installation.start();
  const person = await firstPerson(installation.url, started);
  const notes = await openProject(person);
  await notes.api('POST', '/variables', { name: 'env:COLOUR', value: 'green', is_sensitive: true });
  await notes.write(noteFiles, 'First');
  await notes.push('main');
  successful(await notes.lastActivity('main'));
  return { started, person, notes, address: await notes.address('main') };
}

/** One of each state, with something of its own: `nap` sleeps, `rest` is paused, `off` is not active. Gives their addresses. */
async function branchOff(notes: Project): Promise<Record<string, string>> {
  const addresses: Record<string, string> = {};
  for (const name of ['nap', 'rest', 'off']) {
    await notes.act('/environments/main/branch', { name });
    const address = (addresses[name] = await notes.address(name));
    await visit(new URL(name, address).href, { method: 'POST' });
    await notes.act(`/environments/${name}/backup`, { safe: false });
  }
  await notes.api('PATCH', '/environments/nap/settings', { sleep_after_seconds: 1 });
  await notes.act('/environments/rest/pause');
  await notes.act('/environments/off/deactivate');
  await eventually('nap sleeps', async () => (await notes.environment('nap')).sleeping_since !== null, sleepSecondsMax);
  return addresses;
}

interface BackedUp {
  /** Backups of `main`: before and after that of the platform. */
  older: string;
  newer: string;
  key: string;
  commit: string;
}

async function backUp({ run }: Installation, drill: Drill): Promise<BackedUp> {
  const { notes } = drill;
  await note(drill, 'one');
  await notes.act('/environments/main/backup', { safe: false });
  // Killed at some moment, and begun again.
  await run(['backup', 'platform'], { secondsMax: 2 });
  expect(await said(run, ['backup', 'platform'])).toMatch(/^platform-\S+: \d+\.\d MB are in .*, and were read back\.$/m);
  // What is made later is found all the same.
  await note(drill, 'two');
  await notes.act('/environments/main/backup', { safe: false });
  await note(drill, 'lost');
  const [newer, older] = await notes.api('GET', '/environments/main/backups');
  expect(await said(run, ['backup', 'list'])).toMatch(new RegExp(`${older.id} .* restorable .*\n${newer.id} .* restorable `));
  return { older: older.id, newer: newer.id, key: await said(run, ['backup', 'key']), commit: await notes.git('rev-parse', 'HEAD') };
}

async function loseEverything({ run, data }: Installation, { started }: Drill) {
  await started.stop();
  await said(run, ['shutdown']);
  await rm(data, { recursive: true });
  await mkdir(data);
}

async function comeBack({ run, launch, data }: Installation, { newer, key }: BackedUp) {
  const without = await run(['restore', 'platform']);
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('The key of the installation is needed') });
  // Killed when the first of it arrives, and when the last of it is in its place; and begun again.
  for (const folder of ['restoring', 'repositories']) {
    const killWhen = () => existsSync(join(data, folder));
    expect(await run(['restore', 'platform', '--key-stdin'], { input: key, killWhen })).toMatchObject({ code: null, stderr: '' });
  }
  const restored = await said(run, ['restore', 'platform', '--key-stdin'], key);
  expect(restored).toContain(`found backups that were made later: ${newer}`);
  const comes = 'its data is gone with the machine, and comes back from backup';
  expect(restored).toMatch(new RegExp(`main: ${comes} ${newer} of \\S+ when the platform starts$`, 'm'));
  expect(restored).toMatch(new RegExp(`nap: ${comes} .*; it sleeps until it is visited$`, 'm'));
  expect(restored).toMatch(new RegExp(`rest: ${comes} .*; it stays paused$`, 'm'));
  expect(await run(['restore', 'platform'])).toMatchObject({ code: 1, stderr: expect.stringContaining('There is an installation in') });
  // While something is half done, nothing is started from it.
  await mkdir(join(data, 'restoring'));
  const early = launch();
  expect(await early.untilEnded()).toBe(1);
  expect(early.stderr).toContain('run ./offshoot restore platform again');
  await rmdir(join(data, 'restoring'));
  return restored;
}

async function expectAsBefore({ url, run }: Installation, { notes, address, person }: Drill, { older, newer, commit }: BackedUp) {
  const answers = async () => (await visit(address).catch(() => undefined))?.status === 200;
  await eventually('the app answers again', answers, returnSecondsMax);
  expect(await read(address, '/')).toBe('one,two,green');
  expect(await send(url, await person.accessToken(), 'GET', '/users/me')).toMatchObject({ status: 200 });
  expect((await notes.api('GET', '/environments/main/backups')).map(({ id }: { id: string }) => id)).toEqual([newer, older]);
  expect(await notes.git('ls-remote', 'origin', 'refs/heads/main')).toContain(commit);
  expect(await said(run, ['backup', 'verify', older])).toContain(`${older}  ${notes.project}  main  ok`);
}

/** What did not run was restored without being started. */
async function expectAtRest(notes: Project, addresses: Record<string, string>) {
  for (const name of ['nap', 'rest']) expect(successful(await notes.lastActivity(name)).log).not.toContain('Opening application');
  expect(await notes.environment('rest')).toMatchObject({ status: 'paused' });
  expect(await notes.environment('off')).toMatchObject({ status: 'inactive' });
  expect(await notes.environment('nap')).toMatchObject({ status: 'active', sleeping_since: expect.any(String) });
  expect(await read(addresses['nap'] ?? '', '/')).toBe('nap,green');
  await notes.act('/environments/rest/resume');
  expect(await read(addresses['rest'] ?? '', '/')).toBe('rest,green');
}

/** One with a key, a data folder and a project of its own, which has never heard of it. */
async function exportToAnother(run: Installation['run'], { older: backup, key: wrongKey }: BackedUp, kept: string) {
  const file = join(kept, 'notes.backup');
  const [, key = ''] = /this key opens it \(shown this once\): (\S+)/.exec(await said(run, ['backup', 'export', backup, file])) ?? [];
  await using another = await createInstallation(plainHttp);
  const project = await openProject(await firstPerson(another.url, await another.start()));
  const there = await another.run(['backup', 'platform'], { settings: { OFFSHOOT_BACKUPS: kept } });
  expect(there).toMatchObject({ code: 1, stderr: expect.stringContaining(`${kept} has the backups of another installation`) });
  const args = ['backup', 'import', file, '--project', project.project, '--environment', 'main'];
  const wrong = await another.run(args, { input: wrongKey });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a backup, is damaged, or has another key') });
  const [imported = ''] = (await said(another.run, args, key)).split(' ', 1);
  expect(await project.api('GET', '/environments/main/backups')).toMatchObject([{ id: imported, restorable: true }]);
  await project.act(`/environments/main/backups/${imported}/restore`, {});
  expect(await read(await project.address('main'), '/')).toBe('one,green');
}

/** The disk with the volumes has more than any backup. */
async function loseAllButVolumes(installation: Installation, drill: Drill, { newer }: BackedUp) {
  const { run, data } = installation;
  const { notes, address, started } = drill;
  await notes.write({ 'more.txt': 'x' }, 'Second');
  await notes.push('main');
  successful(await notes.lastActivity('main'));
  expect(await read(address, '/')).toBe('one,two,green');
  await said(run, ['backup', 'platform']);
  await note(drill, 'three');
  await started.stop();
  for (const folder of ['postgres', 'repositories']) await rm(join(data, folder), { recursive: true });
  const kept = 'main: its volumes are on this machine, and are used as they are; its newest backup is';
  expect(await said(run, ['restore', 'platform'])).toContain(`${kept} ${newer} of `);
  await installation.start();
  expect(await read(address, '/')).toBe('one,two,three,green');
  await notes.act('/environments/main/redeploy');
  expect(await read(address, '/')).toBe('one,two,three,green');
}
