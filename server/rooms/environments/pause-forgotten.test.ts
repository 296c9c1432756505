/** When previews rest: paused when nobody deploys to them, and asleep, where that is wanted, when nobody visits them. */
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { createEnvironment } from './create-environment.ts';
import { machineName } from './names.ts';
import { pauseForgottenPreviews } from './pause-forgotten.ts';

let home: TestPlatform;
let owner: Person;
let projectId: string;

const at = (environment: string, rest = '') => `/projects/${projectId}/environments/${environment}${rest}`;
const add = async (id: string, type: string) => {
  await home.platform.db
    .insertInto('environments')
    .values({ project_id: projectId, id, machine_name: machineName(id, projectId), title: id, type, parent: 'main' })
    .execute();
  await deploySample(home.platform, { projectId, environmentId: id });
};
/** As if the environment had been deployed so long ago. */
const age = (id: string, days: number, failedDays = days) =>
  sql`update environments set last_active_at = now() - make_interval(hours => ${days * 24}),
    last_deployment = jsonb_build_object('successful', false, 'at', now() - make_interval(hours => ${failedDays * 24}))
    where project_id = ${projectId} and id = ${id}`.execute(home.platform.db);
const look = () => pauseForgottenPreviews.run(home.platform, new AbortController().signal);
const pauses = () =>
  home.platform.db
    .selectFrom('activities')
    .select(['environments', 'text', 'payload', 'input'])
    .where('project_id', '=', projectId)
    .where('type', '=', 'environment.pause')
    .execute();

beforeAll(async () => {
  home = await openTestPlatform();
});
beforeEach(async () => {
  owner = await home.person();
  ({ projectId } = await sampleProject(owner));
  await deploySample(home.platform, { projectId, environmentId: 'main' });
});

describe('an environment that nobody has deployed to for 14 days', () => {
  test('is paused once if it is a preview, with a word on why; production is not', async () => {
    await add('staging', 'staging');
    await add('feature', 'development');
    await add('fresh', 'development');
    await add('tried', 'development');
    for (const id of ['main', 'staging', 'feature']) await age(id, 15);
    await age('fresh', 13);
    await age('tried', 30, 1);
    await look();
    await look();
    const found = await pauses();
    expect(found.flatMap(({ environments }) => environments).toSorted()).toEqual(['feature', 'staging']);
    expect(found.map(({ text }) => text)).toContain(
      'Offshoot Bot paused environment feature, as **nothing was deployed to it for 14 days**',
    );
    expect(found[0]).toMatchObject({ payload: { user: { id: 'admin' } }, input: { environment: found[0]?.environments[0] } });
  });

  test('is left alone while something happens to it, and where the operator wants no pauses', async () => {
    await add('feature', 'development');
    await age('feature', 400);
    const { config } = home.platform;
    const never = { ...home.platform, config: { ...config, previews: { ...config.previews, pauseAfterDays: 0 } } };
    await pauseForgottenPreviews.run(never, new AbortController().signal);
    expect(await pauses()).toEqual([]);
    expect(await owner.send('POST', at('feature', '/redeploy'), {})).toMatchObject({ status: 200 });
    await look();
    expect(await pauses()).toEqual([]);
  });
});

describe('when an environment sleeps', () => {
  test('is one of its settings, which branches begin with, and shown', async () => {
    expect((await owner.send('GET', at('main', '/settings'))).json).toMatchObject({ sleep_after_seconds: null });
    const changed = await owner.send('PATCH', at('main', '/settings'), { sleep_after_seconds: 1800 });
    expect(changed.json).toMatchObject({ _embedded: { entity: { sleep_after_seconds: 1800, enable_manual_deployments: false } } });
    for (const wrong of [-1, 1.5, '60', 9e9])
      expect(await owner.send('PATCH', at('main', '/settings'), { sleep_after_seconds: wrong })).toMatchObject({ status: 400 });
    const project = { id: projectId, default_branch: 'main' };
    await home.platform.db.transaction().execute((tx) => createEnvironment(tx, { project, id: 'next', parent: 'main' }));
    expect((await owner.send('GET', at('next', '/settings'))).json).toMatchObject({ sleep_after_seconds: 1800 });
    await owner.send('PATCH', at('main', '/settings'), { sleep_after_seconds: null });
    expect((await owner.send('GET', at('main', '/settings'))).json).toMatchObject({ sleep_after_seconds: null });

    const awake = { status: 'active', sleeping_since: null, start_failure: null };
    expect((await owner.send('GET', at('main'))).json).toMatchObject(awake);
    await sql`update environments set sleeping_since = '2026-11-15T10:00:00Z' where project_id = ${projectId} and id = 'main'`.execute(
      home.platform.db,
    );
    const asleep = { sleeping_since: '2026-11-15T10:00:00.000000+00:00', deployment_state: { crons: { status: 'sleeping' } } };
    expect((await owner.send('GET', at('main'))).json).toMatchObject({ ...awake, ...asleep });
  });
});
