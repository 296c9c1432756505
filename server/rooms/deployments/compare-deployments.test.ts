import { beforeAll, describe, expect, test } from 'vitest';
import { changeQuota } from '../../../cli/quota.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { fill, sampleEnvironment } from '../../testing/samples.ts';
import { sampleStack } from '../../testing/stack.ts';
import type { Stack } from './stack/stack.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
});

const variable = (name: string, value: string) => ({
  name,
  value,
  is_sensitive: true,
  is_json: false,
  visible_build: true,
  visible_runtime: true,
  application_scope: [],
});

/** An environment in which one stack was deployed after the other, of commits of its own. */
async function deployed(change: (first: Stack, commit: string) => Partial<Stack>) {
  const address = await sampleEnvironment(owner);
  const { accounts } = sampleStack().secrets;
  const folder = home.platform.git.path(address.projectId);
  const commits = [commitFiles(folder, undefined, { a: '1' })];
  commits.push(commitFiles(folder, commits[0], { a: '2' }));
  const secrets = { variables: [variable('env:KEY', 'first secret'), variable('env:OLD', 'x'), variable('env:SAME', 'y')], accounts };
  const first = await deploySample(home.platform, address, { commit_id: commits[0] ?? '', secrets });
  const deployment = { ...first.deployment, id: `${first.deployment.id}2`, number: 2 };
  const [, commit_id = ''] = commits;
  await deploySample(home.platform, address, { ...first, deployment, ...change(first, commit_id) });
  return { at: fill('/projects/{projectId}/environments/{environmentId}', address), commits };
}

describe('what differs between an earlier deployment and what runs', () => {
  test('is told by commit, field and build; of variables, only the names', async () => {
    const { at, commits } = await deployed(({ model, slugs, sizes, secrets }, commit_id) => {
      const { shop } = model.applications;
      if (!shop || !slugs['shop'] || !sizes.webapps['shop']) throw new Error('The sample has an app called shop.');
      const { cache: _gone, ...services } = model.services;
      return {
        commit_id,
        model: {
          ...model,
          applications: {
            ...model.applications,
            shop: { ...shop, type: 'nodejs:22', hooks: { ...shop.hooks, deploy: 'npm run migrate' } },
          },
          services,
          routes: { ...model.routes, 'https://new.{default}/': Object.values(model.routes)[0] as (typeof model.routes)[string] },
        },
        slugs: { ...slugs, shop: { ...slugs['shop'], slug_id: 'another' } },
        sizes: { ...sizes, webapps: { ...sizes.webapps, shop: { ...sizes.webapps['shop'], instance_count: 5 } } },
        secrets: { ...secrets, variables: [variable('env:KEY', 'second secret'), variable('env:NEW', 'z'), variable('env:SAME', 'y')] },
      };
    });
    const list = (await owner.send('GET', `${at}/earlier-deployments`)).json;
    const href = list.find(({ number }: { number: number }) => number === 1)._links['#differences'].href;
    const { status, json, text } = await owner.send('GET', href);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        earlier: { number: 1, commit: commits[0] },
        current: { number: 2, commit: commits[1] },
        commits: { added: { count: 1, newest: [{ sha: commits[1], message: expect.any(String) }] }, removed: { count: 0, newest: [] } },
        builds: ['shop'],
        routes: [{ name: 'https://new.{default}/', change: 'added', differences: [] }],
        variables: [
          { name: 'env:KEY', change: 'changed' },
          { name: 'env:NEW', change: 'added' },
          { name: 'env:OLD', change: 'removed' },
        ],
      },
    });
    expect(json.containers).toContainEqual({ kind: 'service', name: 'cache', change: 'removed', differences: [] });
    expect(json.containers.find(({ kind, name }: { kind: string; name: string }) => kind === 'app' && name === 'shop')).toEqual({
      kind: 'app',
      name: 'shop',
      change: 'changed',
      differences: [
        { path: 'hooks.deploy', earlier: 'null', current: '"npm run migrate"' },
        { path: 'instance_count', earlier: '2', current: '5' },
        { path: 'type', earlier: '"nodejs:24"', current: '"nodejs:22"' },
      ],
    });
    expect(text).not.toMatch(/first secret|second secret/);
  });

  test('is nothing where the same was deployed again, and commits that are gone are not told', async () => {
    const { at } = await deployed(() => ({ commit_id: 'f'.repeat(40) }));
    expect((await owner.send('GET', `${at}/earlier-deployments/1/differences`)).json).toMatchObject({
      commits: null,
      containers: [],
      routes: [],
      variables: [],
      builds: [],
    });
    expect((await owner.send('GET', `${at}/earlier-deployments/7/differences`)).status).toBe(404);
  });
});

describe('what a change of sizes would do', () => {
  test('is told before it is done, with what everything comes to and what is allowed; nothing changes', async () => {
    const { at } = await deployed(() => ({}));
    const { organization } = (await owner.send('GET', at.replace(/\/environments.*/, ''))).json;
    const { name } = (await owner.send('GET', `/organizations/${organization}`)).json;
    await changeQuota(home.platform.db, ['organization', name, 'cpu=20']);
    const next = (await owner.send('GET', `${at}/deployments/next`)).json;
    const { href } = next._links['#preview'];
    const change = { webapps: { shop: { instance_count: 3 } }, services: { db: { resources: { profile_size: '1' }, disk: 1024 } } };
    const { status, json } = await owner.send('POST', href, change);
    expect({ status, json }).toMatchObject({ status: 200, json: { is_staged: false, interrupts: true } });
    const told = Object.fromEntries(json.containers.map(({ name: of, ...container }: { name: string }) => [of, container]));
    expect(told.db).toEqual({
      kind: 'services',
      before: { profile_size: '0.5', instance_count: 1, disk: 512 },
      after: { profile_size: '1', instance_count: 1, disk: 1024 },
      effect: 'restart',
    });
    expect(told.shop).toMatchObject({ before: { instance_count: 2 }, after: { instance_count: 3 }, effect: 'keep' });
    expect(told.api).toMatchObject({ effect: 'keep' });
    expect(json.after.cpu - json.before.cpu).toBeCloseTo(1.5);
    expect(json.after.disk - json.before.disk).toBe(512);
    expect(json.limits).toContainEqual(expect.objectContaining({ of: 'organization', allowed: expect.objectContaining({ cpu: 20 }) }));
    expect((await owner.send('GET', `${at}/deployments/next`)).json.webapps.shop.instance_count).toBe(2);

    const tooMuch = await owner.send('POST', href, { webapps: { shop: { resources: { profile_size: '8' }, instance_count: 8 } } });
    expect(tooMuch).toMatchObject({ status: 402, json: { message: expect.stringContaining('20 CPU are allowed') } });
    const wrong = await owner.send('POST', href, { services: { db: { disk: 1, instance_count: 2 } } });
    expect(wrong).toMatchObject({
      status: 400,
      json: { detail: { 'services.db.disk': expect.any(String), 'services.db.instance_count': expect.any(String) } },
    });
  });
});
