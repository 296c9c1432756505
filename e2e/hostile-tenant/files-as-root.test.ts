/**
 * A tenant leaves links, pipes, setuid programs and endless files where programs of the platform come by as root: when data is mounted, backed up and
 * restored; and variables that would change how those programs run. None of it leads anywhere, nobody waits for it, and what is the tenant's own works on.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { firstPerson, openProject, type Project } from '../open-project.ts';
import { visit } from '../visit.ts';

const startMilliseconds = 300_000;
const testMilliseconds = 240_000;

/** Of the machine, where links lead to. */
const elsewhere = mkdtempSync(join(tmpdir(), 'offshoot-elsewhere-'));

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    build: {flavor: none}
    variables: {env: {LD_PRELOAD: /app/all/evil.so, PATH: '/app/all/bin:/usr/local/bin:/usr/bin:/bin'}}
    mounts:
      all: {source: storage, source_path: ''}
      shared: {source: service, service: files, source_path: public}
    hooks:
      deploy: |
        for folder in all shared; do
          ln -sfn ${elsewhere} $folder/elsewhere && ln -sfn ${elsewhere}/secret $folder/secret
          [ -p $folder/pipe ] || mkfifo $folder/pipe
          cp /bin/true $folder/program && chmod 6755 $folder/program
        done
    web: {commands: {start: exec node server.mjs}}
services:
  files: {type: 'network-storage:1.0'}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.mjs': `
import { exec } from 'node:child_process';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
createServer(async (request, response) => {
  exec((await text(request)) || 'true', (failed, output, errors) => response.writeHead(failed ? 500 : 200).end(output + errors));
}).listen(Number(process.env.PORT));
process.on('SIGTERM', () => process.exit(0));
`,
};

/** Of what is planted: kinds and where links lead. */
const listing = 'for folder in all shared; do (cd $folder && find . -maxdepth 1 -printf "%f %y %m %l\\n" | sort); done';

describe.runIf(canRunContainers)(`files that the platform handles as root${whyNoContainers}`, () => {
  let installation: Installation;
  let project: Project;
  let planted: string;

  beforeAll(async () => {
    writeFileSync(join(elsewhere, 'secret'), 'of the machine', { mode: 0o600 });
    installation = await createInstallation(plainHttp);
    project = await openProject(await firstPerson(installation.url, await installation.start()));
    await project.write(files, 'First');
    await project.push('main');
    planted = await inside(listing);
  }, startMilliseconds);
  afterAll(async () => {
    rmSync(elsewhere, { recursive: true });
    await installation?.[Symbol.asyncDispose]();
  }, startMilliseconds);

  /** What a command says inside the app. */
  const inside = async (command: string): Promise<string> =>
    (await visit(await project.address('main'), { method: 'POST', body: command })).text;
  const newest = async () => (await project.api('GET', '/environments/main/backups'))[0];

  test('it sees itself as it should, and nothing of where the platform keeps things', { timeout: testMilliseconds }, async () => {
    expect(planted).toContain(`elsewhere l 777 ${elsewhere}\n`);
    expect(planted).toContain('pipe p ');
    const mounts = (await inside('grep -v " /var/log " /proc/self/mountinfo')).split('\n');
    expect(mounts.length).toBeGreaterThan(10);
    for (const path of [installation.data, '/run/offshoot', '/layers/']) expect(mounts.filter((mount) => mount.includes(path))).toEqual([]);
    expect(await inside('all/program && grep -E "^(CapEff|NoNewPrivs)" /proc/self/status')).toMatch(/^CapEff:\t0+\nNoNewPrivs:\t1\n/);
  });

  test(
    'a file that is endless is refused at once; without it all is stored and comes back as it was',
    { timeout: testMilliseconds },
    async () => {
      await inside('truncate -s 1P all/endless');
      const refused = await project.attempt('/environments/main/backup');
      expect(refused).toMatchObject({ result: 'failure', log: expect.stringContaining('are together longer than') });
      await inside('rm all/endless');
      await project.act('/environments/main/backup');
      const { id } = await newest();
      await inside('rm all/elsewhere all/secret all/pipe all/program shared/elsewhere && mkdir all/elsewhere && echo mine >all/secret');
      await project.act(`/environments/main/backups/${id}/restore`, {});
      expect(await inside(listing)).toBe(planted);
      expect(readdirSync(elsewhere)).toEqual(['secret']);
      expect(readFileSync(join(elsewhere, 'secret'), 'utf8')).toBe('of the machine');
    },
  );
});
