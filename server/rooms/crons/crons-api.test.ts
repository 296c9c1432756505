import { beforeAll, expect, test } from 'vitest';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment } from '../../testing/samples.ts';
import { app, shop } from '../../testing/stack.ts';
import { startCronsAt } from './start-crons.ts';

let home: TestPlatform;
beforeAll(async () => void (home = await openTestPlatform()));

const cron = (spec: string) => ({ spec, commands: { start: 'echo tidy', stop: null }, shutdown_timeout: 10, timeout: 60 });

test('crons are listed with their next and last runs, and one can be run now; one run waits at most', async () => {
  const owner = await home.person();
  const environment = await sampleEnvironment(owner);
  const crons = { tidy: cron('0 3 * * *'), never: cron('0 0 30 2 *') };
  await deploySample(home.platform, environment, { model: { ...shop(), applications: { app: app('app', { crons }) } } });
  await startCronsAt(home.platform, new Date());
  const at = `/projects/${environment.projectId}/environments/${encodeURIComponent(environment.environmentId)}/crons`;
  const { json: listed } = await owner.send('GET', at);
  expect(listed).toMatchObject([
    { id: 'app/tidy', spec: '0 3 * * *', timezone: 'UTC', command: 'echo tidy', last_at: null, last_run: null, _links: { '#run': {} } },
    { id: 'app/never', next_at: null },
  ]);
  expect(Date.parse(listed[0].next_at)).toBeGreaterThan(Date.now());

  const { status, json } = await owner.send('POST', `${at}/app/tidy/run`);
  expect(status).toBe(200);
  const [activity] = json._embedded.activities;
  expect(activity).toMatchObject({ type: 'environment.cron', parameters: { user: owner.user.id, cron: 'tidy' } });
  const { json: asked } = await owner.send('GET', `${at}/app/tidy`);
  expect(asked).toMatchObject({
    next_at: listed[0].next_at,
    last_at: null,
    last_run: { activity: activity.id, state: 'pending', result: null },
  });
  expect(asked._links['#run']).toBeUndefined();
  expect(await owner.send('POST', `${at}/app/tidy/run`)).toMatchObject({
    status: 409,
    json: { message: expect.stringContaining('waits') },
  });
});
