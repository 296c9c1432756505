import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { shortId } from '../../kernel/id.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { fill, sampleEnvironment } from '../../testing/samples.ts';
import { deployments } from '../deployments/room.ts';
import { forgetOldSlugs } from './queries.ts';
import type { Slug } from './slugs.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
});

/** An environment that was deployed so many times, each with the slug of that name, which was last used a month ago. */
async function deployedWith(...versions: string[]) {
  const address = await sampleEnvironment(owner);
  const { db } = home.platform;
  const stackId = shortId();
  for (const [n, version] of versions.entries()) {
    const slug: Slug = {
      slug_id: `${address.projectId}-${version}`,
      tree_id: version,
      config_id: '',
      volume: `slug-${address.projectId}-${version}`,
    };
    const deployment = { id: shortId(), number: n + 1, created_at: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString() };
    await deploySample(home.platform, address, { id: stackId, deployment, commit_id: version, slugs: { shop: slug } });
    const { slug_id: id, tree_id, config_id, volume } = slug;
    await db
      .insertInto('slugs')
      .values({ id, project_id: address.projectId, app: 'shop', tree_id, config_id, volume, bytes: '1' })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  await sql`update slugs set last_used_at = now() - interval '30 days' where project_id = ${address.projectId}`.execute(db);
  const list = async () =>
    (await owner.send('GET', fill('/projects/{projectId}/environments/{environmentId}/earlier-deployments', address))).json as {
      number: number;
      can_rollback: boolean;
    }[];
  return { ...address, list };
}

test('the builds of the last deployments that differ are kept, however often each was deployed', async () => {
  const environment = await deployedWith('a', 'b', 'c', 'c', 'c', 'd', 'e', 'f', 'f', 'g');
  const keeping = { replacedMax: 5, unusedDaysMax: 14, unusedMinutesMin: 60, bytesMax: 2 ** 40 };
  const forgotten = await forgetOldSlugs(home.platform.db, keeping);
  const mine = forgotten.filter((volume) => volume.includes(environment.projectId));
  expect(mine).toEqual([`slug-${environment.projectId}-a`]);
  const kept = (await environment.list()).filter(({ can_rollback }) => can_rollback).map(({ number }) => number);
  expect(kept).toEqual([9, 8, 7, 6, 5, 4, 3, 2]);
});

test('deployments beyond the bound are forgotten, in each environment for itself, and never the current one', async () => {
  const { db } = home.platform;
  const many = await deployedWith(...Array.from({ length: 60 }, (_, n) => String(n)));
  const few = await deployedWith('a', 'b');
  const numbers = async ({ list }: typeof many) => (await list()).map(({ number }) => number);
  const reconciler = deployments.reconcilers?.find(({ name }) => name === 'prune deployments');
  const prune = () => reconciler?.run(home.platform, new AbortController().signal);
  await prune();
  expect(await numbers(many)).toHaveLength(51);
  const rows = async () => (await db.selectFrom('deployments').select('number').where('project_id', '=', many.projectId).execute()).length;
  expect(await rows()).toBe(60);
  await sql`update deployments set updated_at = now() - interval '2 days'`.execute(db);
  await prune();
  expect([await rows(), await numbers(few)]).toEqual([51, [2, 1]]);
  expect((await numbers(many)).slice(0, 2)).toEqual([60, 59]);
});
