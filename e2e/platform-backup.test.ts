import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, type Installation } from './installation.ts';
import { firstPerson, openProject, read, successful } from './open-project.ts';
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

/** It starts everything twice. */
const drillMilliseconds = 400_000;
const returnSecondsMax = 90;

async function said(run: Installation['run'], args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(args, input === undefined ? {} : { input });
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

test(
  'an installation whose data folder is gone comes back from its backup: people, projects, code, variables, backups, and what apps kept',
  { timeout: drillMilliseconds },
  async () => {
    const kept = await mkdtemp(join(tmpdir(), 'offshoot-kept-'));
    try {
      await using installation = await createInstallation({ OFFSHOOT_BACKUPS: kept });
      const { url, run, data } = installation;
      const started = await installation.start();
      const person = await firstPerson(url, started);
      const notes = await openProject(person);
      await notes.api('POST', '/variables', { name: 'env:COLOUR', value: 'green', is_sensitive: true });
      await notes.write(noteFiles, 'First');
      await notes.push('main');
      successful(await notes.lastActivity('main'));
      const address = await notes.address('main');
      const note = (text: string) => visit(new URL(text, address).href, { method: 'POST' });

      await note('one');
      await notes.act('/environments/main/backup', { safe: false });
      // Killed at some moment, and begun again.
      await run(['backup', 'platform'], { secondsMax: 2 });
      expect(await said(run, ['backup', 'platform'])).toMatch(/^platform-\S+: \d+\.\d MB are in .*, and were read back\.$/m);
      // What is made later is found all the same.
      await note('two');
      await notes.act('/environments/main/backup', { safe: false });
      await note('lost');
      const commit = await notes.git('rev-parse', 'HEAD');
      const [newer, older] = await notes.api('GET', '/environments/main/backups');
      expect(await said(run, ['backup', 'list'])).toMatch(new RegExp(`${older.id} .* restorable .*\n${newer.id} .* restorable `));
      const key = await said(run, ['backup', 'key']);

      await started.stop();
      await said(run, ['shutdown']);
      await rm(data, { recursive: true });
      await mkdir(data);

      const without = await run(['restore', 'platform']);
      expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('The key of the installation is needed') });
      // Killed at some moment, twice, and begun again.
      for (const secondsMax of [1.5, 4]) await run(['restore', 'platform', '--key-stdin'], { input: key, secondsMax });
      const restored = await said(run, ['restore', 'platform', '--key-stdin'], key);
      expect(restored).toContain(`found backups that were made later: ${newer.id}`);
      expect(restored).toMatch(new RegExp(`main: its data is gone with the machine, and comes back from backup ${newer.id}`));
      expect(await run(['restore', 'platform'])).toMatchObject({ code: 1, stderr: expect.stringContaining('There is an installation in') });

      await installation.start();
      const answers = async () => (await visit(address).catch(() => undefined))?.status === 200;
      await eventually('the app answers again', answers, returnSecondsMax);
      expect(await read(address, '/')).toBe('one,two,green');
      expect(await send(url, await person.accessToken(), 'GET', '/users/me')).toMatchObject({ status: 200 });
      expect((await notes.api('GET', '/environments/main/backups')).map(({ id }: { id: string }) => id)).toEqual([newer.id, older.id]);
      expect(await notes.git('ls-remote', 'origin', 'refs/heads/main')).toContain(commit);
      expect(await said(run, ['backup', 'verify', older.id])).toContain(`${older.id}  ${notes.project}  main  ok`);
      // One of them as a file, for a project that has never heard of it.
      const file = join(kept, 'notes.backup');
      const [, fileKey = ''] =
        /this key opens it \(shown this once\): (\S+)/.exec(await said(run, ['backup', 'export', older.id, file])) ?? [];
      const other = await openProject(person);
      const to = ['--project', other.project, '--environment', 'main'];
      const wrong = await run(['backup', 'import', file, ...to], { input: key });
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a backup, is damaged, or has another key') });
      const [imported = ''] = (await said(run, ['backup', 'import', file, ...to], fileKey)).split(' ', 1);
      await other.act(`/environments/main/backups/${imported}/restore`, {});
      expect(await read(await other.address('main'), '/')).toBe('one,green');

      await notes.write({ 'more.txt': 'x' }, 'Second');
      await notes.push('main');
      successful(await notes.lastActivity('main'));
      expect(await read(address, '/')).toBe('one,two,green');
    } finally {
      await rm(kept, { recursive: true, force: true });
    }
  },
);
