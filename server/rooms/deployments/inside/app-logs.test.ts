/** The logs of apps that really run: what they see of them, and what becomes of them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000 };

const configuration = (start: string) => `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: ${JSON.stringify(start)} } }
    workers:
      queue: { commands: { start: "echo the worker says hello; exec sleep 100000" } }
    hooks: { deploy: "echo deploying; echo careful >&2", post_deploy: "echo afterwards" }
routes: { "http://{default}/": { type: upstream, upstream: 'app:http' } }
`;
const serve = (version: string) =>
  `echo version ${version} says hello; exec node -e "require('http').createServer((_, reply) => reply.end('{}')).listen(process.env.PORT, '0.0.0.0')"`;
const files = (start: string): Content => ({ '.upsun/config.yaml': configuration(start) });

describe.runIf(canRunContainers)(`logs of apps${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  test(
    'are seen in /var/log, those of each app by itself, kept over redeployments and pauses, and gone with the environment',
    { timeout },
    async () => {
      const project = await all.project();
      await project.push(files(serve('one')));
      const logs = join(all.machine.logs, `${project.projectId}-${(await project.row()).machine_name}`);
      const kept = (app: string, name: string) => readFileSync(join(logs, app, `${name}.log`), 'utf8');
      await expect.poll(() => project.inside('cat /var/log/app.log'), waiting).toBe('version one says hello');
      expect(await project.inside('ls -1 /var/log/*.log')).toBe(
        ['access', 'app', 'cron', 'deploy', 'error', 'post_deploy'].map((name) => `/var/log/${name}.log`).join('\n'),
      );
      expect((await project.inside('tail -n +2 /var/log/deploy.log')).split('\n').toSorted()).toEqual(['W: careful', 'deploying']);
      expect(await project.inside('head -n 1 /var/log/deploy.log')).toMatch(/^\[[\dT:.Z-]+\] Launching deploy hook$/);
      expect(await project.inside('tail -n 1 /var/log/post_deploy.log')).toBe('afterwards');
      await expect.poll(() => kept('app--queue', 'app'), waiting).toBe('the worker says hello\n');
      expect(await project.inside('cat /var/log/*.log')).not.toContain('worker');
      for (const attempt of ['echo forged >>/var/log/app.log', 'rm -f /var/log/access.log', 'ln -s / /var/log/root'])
        await expect(project.inside(attempt)).rejects.toThrow(/Read-only file system|Permission denied/);

      await project.push(files(serve('two')));
      await project.does('pause');
      await project.does('resume');
      await expect.poll(() => kept('app', 'app'), waiting).toBe('version one says hello\nversion two says hello\nversion two says hello\n');
      expect(kept('app', 'deploy').match(/Launching/g)?.length).toBeGreaterThanOrEqual(2);

      await project.does('remove');
      expect(existsSync(logs)).toBe(false);
    },
  );

  test('of a first deployment that failed stay, and the activity says where', { timeout }, async () => {
    const project = await all.project();
    const { result, log } = await project.attempt(files('echo first; seq 100; echo last words; exit 3'));
    expect(result).toBe('failure');
    expect(log).toMatch(/Application 'app' ended with code 3 before it was ready\.\n.*Its last lines:\n.*last words\n/s);
    const [, where = ''] = /All of its output is kept: GET (\S+)/.exec(log) ?? [];
    expect(where).toBe(`/projects/${project.projectId}/environments/main/logs/app/failed_start`);
    const logs = join(all.machine.logs, `${project.projectId}-${(await project.row()).machine_name}`, 'app');
    expect(readFileSync(join(logs, 'failed_start.log'), 'utf8')).toMatch(
      /^\[.+\] Deployment 1: Application 'app' ended .+\nfirst\n1\n2\n(.+\n)+last words\n$/,
    );
    expect(readFileSync(join(logs, 'app.log'), 'utf8')).toMatch(/^first\n1\n(.+\n)+last words\n$/);
  });
});
