/** A preview that nobody visits sleeps; a browser wakes it; and whatever is killed meanwhile, also during a backup, the visitor gets the page. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdSeconds } from '../server/rooms/deployments/deploy/hold-requests.ts';
import { canRunContainers, whyNoContainers } from '../server/testing/images.ts';
import { openBrowser } from './browser.ts';
import { processesOfStack, stacksIn } from './containers.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, type Installation } from './installation.ts';
import { firstPerson, openProject, read, type Project } from './open-project.ts';
import type { RunningPlatform } from './running-platform.ts';
import { visit } from './visit.ts';

const startMilliseconds = 240_000;
const sleepAfterSeconds = 2;
/** So that what is awake stays so until a test wants it to sleep. */
const neverSeconds = 0;
/** Beyond that, until somebody looks. */
const lookSecondsMax = 90;
/** As long as it takes until requests wait for it, and longer. */
const slowSeconds = 12;

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    relationships: {database: 'db:postgresql'}
    web: {commands: {start: exec node server.mjs}}
    hooks: {deploy: 'psql "postgresql://$DATABASE_USERNAME:$DATABASE_PASSWORD@$DATABASE_HOST/$DATABASE_PATH" -qc "create table if not exists visits (n int)"'}
services:
  db: {type: 'postgresql:17'}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.mjs': `
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
const { DATABASE_USERNAME, DATABASE_PASSWORD, DATABASE_HOST, DATABASE_PATH, PORT } = process.env;
const database = \`postgresql://\${DATABASE_USERNAME}:\${DATABASE_PASSWORD}@\${DATABASE_HOST}/\${DATABASE_PATH}\`;
const sql = async (statement) => (await promisify(execFile)('psql', [database, '-qAtc', statement])).stdout.trim();
let slow = 0;
createServer(async (request, response) => {
  if (request.url === '/slow') return slow++, setTimeout(() => response.end('at last'), ${slowSeconds * 1000});
  if (request.url === '/slow-so-far') return response.end(String(slow));
  if (request.url !== '/') return response.writeHead(204).end();
  await sql('insert into visits values (1)');
  response.setHeader('content-type', 'text/html').end(\`<h1>Visit \${await sql('select count(*) from visits')}</h1>\`);
}).listen(Number(PORT));
process.on('SIGTERM', () => process.exit(0));
`,
};

describe.runIf(canRunContainers)(`sleep${whyNoContainers}`, () => {
  let installation: Installation;
  let platform: RunningPlatform;
  let project: Project;
  let preview: string;
  let stack: string;

  beforeAll(async () => {
    installation = await createInstallation(plainHttp);
    platform = await installation.start();
    project = await openProject(await firstPerson(installation.url, platform));
    await project.write(files, 'First');
    await project.push('main');
    const others = stacksIn(installation.data);
    await project.act('/environments/main/branch', { name: 'preview' });
    stack = stacksIn(installation.data).find((id) => !others.includes(id)) ?? '';
    preview = await project.address('preview');
  }, startMilliseconds);
  afterAll(() => installation?.[Symbol.asyncDispose](), startMilliseconds);

  const sleepAfter = (seconds: number) => project.api('PATCH', '/environments/preview/settings', { sleep_after_seconds: seconds });
  const untilAsleep = async () => {
    await sleepAfter(sleepAfterSeconds);
    await eventually(
      'the preview sleeps',
      async () => {
        const { sleeping_since, status } = await project.environment('preview');
        expect(status).toBe('active');
        return sleeping_since !== null && processesOfStack(stack).length === 0;
      },
      sleepAfterSeconds + lookSecondsMax,
      () => platform.said,
    );
    await sleepAfter(neverSeconds);
  };

  test('a browser wakes a preview that sleeps, and sees its page; the feed of activities says nothing of it', async () => {
    const activities = (await project.api('GET', '/activities')).length;
    await untilAsleep();
    await using browser = await openBrowser(preview);
    await browser.page.goto(preview);
    expect(await browser.page.textContent('h1')).toBe('Visit 1');
    expect(browser.mistakes).toEqual([]);
    expect(await project.environment('preview')).toMatchObject({ status: 'active', sleeping_since: null, start_failure: null });
    expect(await project.api('GET', '/activities')).toHaveLength(activities);
    expect(await read(await project.address('main'), '/')).toBe('<h1>Visit 1</h1>');
  });

  test('killed while it wakes, and down while somebody comes, the platform lets nobody wait in vain', async () => {
    await untilAsleep();
    const first = visit(preview);
    await eventually(
      'something of the preview runs',
      () => processesOfStack(stack).length > 0,
      lookSecondsMax,
      () => platform.said,
    );
    await platform.killAll();
    platform = await installation.start();
    expect(await first).toMatchObject({ status: 200, text: '<h1>Visit 2</h1>' });

    await untilAsleep();
    await platform.stop();
    const second = visit(preview);
    platform = await installation.start();
    expect(await second).toMatchObject({ status: 200, text: '<h1>Visit 3</h1>' });
  });

  test('killed while requests wait for a backup, and not started again, it keeps nobody waiting; started after all, it ends the backup', async () => {
    const main = await project.address('main');
    const slow = visit(new URL('/slow', main).href);
    await eventually(
      'it is under way',
      async () => (await read(main, '/slow-so-far')) === '1',
      lookSecondsMax,
      () => platform.said,
    );
    const askedAt = Date.now();
    const { _embedded } = await project.api('POST', '/environments/main/backup', { safe: true });
    const heldUntil = () =>
      globSync(join(installation.data, 'edge/table/*.json'))
        .map((file) => JSON.parse(readFileSync(file, 'utf8')))
        .find(({ state }) => state === 'holding')?.holds_until;
    await eventually(
      'requests wait',
      () => heldUntil() !== undefined,
      lookSecondsMax,
      () => platform.said,
    );
    const waiting = Array.from({ length: 5 }, async () => {
      const { status } = await visit(main);
      return { status, at: Date.now() };
    });
    await platform.killServer();
    const [killedAt, until] = [Date.now(), heldUntil()];
    expect([until >= askedAt + holdSeconds * 1000, until <= killedAt + holdSeconds * 1000]).toEqual([true, true]);
    // Nobody but the edge is there to let them through.
    for (const { status, at } of await Promise.all(waiting)) expect([status, at >= until]).toEqual([200, true]);
    expect(await slow).toMatchObject({ status: 200 });
    expect(await visit(main)).toMatchObject({ status: 200 });

    platform = await installation.start();
    const [backup] = _embedded.activities;
    expect(await project.ending(backup.id)).toMatchObject({ result: 'success' });
    expect(await project.api('GET', '/environments/main/backups')).toMatchObject([{ id: backup.payload.backup_name, restorable: true }]);
  });

  test('after the machine was off it still sleeps, until somebody comes', async () => {
    await untilAsleep();
    await platform.stop();
    expect(await installation.run(['shutdown'])).toMatchObject({ code: 0 });
    platform = await installation.start();
    const main = await project.address('main');
    const answers = async () => (await visit(main).catch(() => undefined))?.status === 200;
    await eventually('what does not sleep answers again', answers, lookSecondsMax, () => platform.said);
    expect(processesOfStack(stack)).toEqual([]);
    expect(await read(preview, '/')).toBe('<h1>Visit 4</h1>');
  });
});
