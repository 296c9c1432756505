/** Every GET reply that the published API knows is held to its published schema, over one of everything. */
import { beforeAll, expect, test } from 'vitest';
import type { Operation } from './kernel/operation.ts';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { deploySample } from './testing/deployment.ts';
import { measureSample } from './testing/measurements.ts';
import { openTestPlatform, type Person, type TestPlatform } from './testing/platform.ts';
import { isPublished, mismatchesWithPublished } from './testing/published-replies.ts';
import { fill, sampleAddress, sampleBilling, sampleEntity, sampleProject, sampleTeam, thereIsNone } from './testing/samples.ts';

const published = operationsOf(rooms).filter(
  (operation) => operation.method === 'GET' && isPublished(operation.path) && !thereIsNone(operation),
);

let home: TestPlatform;

beforeAll(async () => {
  home = await openTestPlatform();
});

test.for(published)('$endpoint is answered as published', async (operation) => {
  const owner = await home.person({ strong: true });
  const address = await furnished(operation, owner);
  const asker = isForOperators(operation) ? await home.person({ is_operator: true }) : owner;
  const { json, status } = await asker.send('GET', fill(operation.path, address));
  expect(status).toBe(200);
  expect(mismatchesWithPublished(operation.path, json)).toEqual([]);
  expect(isList(operation) && listIn(json)?.length === 0).toBe(false);
});

const isForOperators = ({ permission }: Operation) => permission === 'deployment-target:view';

const isList = ({ returns: { kind } }: Operation) => kind === 'array' || kind === 'page';

const listIn = (json: unknown) => (Array.isArray(json) ? json : Object.values(json as object).find(Array.isArray));

/** The address of a target with something to show: a list that is not empty, an environment in which something runs. */
async function furnished(operation: Operation, owner: Person): Promise<Record<string, string>> {
  const { returns, endpoint } = operation;
  const furnish = furniture[endpoint];
  if (furnish) return furnish(owner);
  const told = 'of' in returns ? returns.of : undefined;
  const address = { ...(await sampleAddress(operation, owner)), ...(told && isList(operation) && (await sampleEntity(told, owner))) };
  const { projectId = '', environmentId = '' } = address;
  if (told?.name === 'environment') await deploySample(home.platform, { projectId, environmentId });
  if (operation.path.includes('/observability')) await measureSample(home.platform, projectId, environmentId);
  return address;
}

/** Fills the lists about the person who asks. */
const furniture: Record<string, (owner: Person) => Promise<Record<string, string>>> = {
  'GET /users/{user_id}/teams': async (owner) => {
    const { team_id } = await sampleTeam(owner);
    await owner.send('POST', `/teams/${team_id}/members`, { user_id: owner.user.id });
    return { user_id: owner.user.id };
  },
  'GET /users/{user_id}/project-access': async (owner) => {
    const { project_id } = await sampleProject(owner);
    await owner.send('POST', `/projects/${project_id}/user-access`, [{ user_id: owner.user.id, permissions: ['admin'] }]);
    return { user_id: owner.user.id };
  },
  'GET /users/{user_id}/extended-access': async (owner) => {
    await sampleProject(owner);
    return { user_id: owner.user.id };
  },
  'GET /users/{user_id}/organizations': async (owner) => {
    await sampleProject(owner);
    return { user_id: owner.user.id };
  },
  'GET /organizations/{organization_id}/vouchers': sampleBilling,
  'GET /organizations/{organization_id}/discounts': sampleBilling,
  'GET /organizations/{organization_id}/prepayment': sampleBilling,
  'GET /organizations/{organization_id}/estimate': sampleBilling,
  'GET /profiles': async () => ({}),
  'GET /regions': async () => ({}),
  'GET /organizations': async (owner) => sampleProject(owner),
  'GET /teams': async (owner) => sampleTeam(owner),
  'GET /me': async (owner) => sampleProject(owner),
};
