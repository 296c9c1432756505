/** Every operation about something of an organization, asked for by its owner and by an operator while it is suspended: what stays possible, and what is refused. */
import { beforeAll, expect, test } from 'vitest';
import type { Operation } from './kernel/operation.ts';
import { operationsOf } from './kernel/room.ts';
import type { Caller } from './platform.ts';
import { suspendOrganization } from './rooms/organizations/work.ts';
import { rooms } from './rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from './testing/platform.ts';
import { fill, sampleAddress, sampleBody } from './testing/samples.ts';

const all = operationsOf(rooms);

/** Beside reading and deleting. */
const staysPossible = ({ permission, endpoint }: Operation) =>
  permission === 'billing:manage' || endpoint === 'POST /projects/{projectId}/environments/{environmentId}/deactivate';

let home: TestPlatform;
let operator: Person;
beforeAll(async () => {
  home = await openTestPlatform();
  operator = await home.person({ is_operator: true, strong: true });
});

async function suspendAllOf({ user }: Person) {
  const { db } = home.platform;
  const rows = await db.selectFrom('organizations').select('id').where('owner_id', '=', user.id).where('status', '=', 'active').execute();
  for (const { id } of rows) await db.transaction().execute((tx) => suspendOrganization(tx, home.platform, id, ''));
}

/** Whether what the sample is about belongs to an organization. */
async function isOfOrganization({ on, find }: Operation, { accessToken }: Person, address: Record<string, string>) {
  const caller = (await home.platform.callerOf(accessToken)) as Caller;
  const target: unknown = await (find ? find(address, caller, home.platform) : on?.load(address, home.platform));
  return target !== undefined && on?.scope(target).organization !== undefined;
}

test.for(all.filter(({ on, permission }) => on && permission !== 'public'))('$endpoint', async (operation) => {
  const owner = await home.person({ strong: true });
  const address = await sampleAddress(operation, owner);
  const body = await sampleBody(operation, owner, address);
  const isChange = !['GET', 'DELETE'].includes(operation.method) && !staysPossible(operation);
  const isToBeRefused = isChange && (await isOfOrganization(operation, owner, address));
  await suspendAllOf(owner);
  const refused = async (person: Person) => (await person.send(operation.method, fill(operation.path, address), body)).status === 402;
  // What is possible is done once only: it may delete what it is about.
  const seers = operation.on?.view === 'deployment-target:view' ? [operator] : [operator, owner];
  const asking = isToBeRefused ? seers : [owner];
  for (const person of asking) expect(await refused(person)).toBe(isToBeRefused);
});

test.for(['POST /teams', 'POST /users/{user_id}/project-access', 'POST /teams/{team_id}/project-access'])(
  '%s is refused for what its body names',
  async (endpoint) => {
    const owner = await home.person({ strong: true });
    const operation = all.find((each) => each.endpoint === endpoint);
    if (!operation) throw new Error(`There is no ${endpoint}.`);
    const address = await sampleAddress(operation, owner);
    const body = await sampleBody(operation, owner, address);
    await suspendAllOf(owner);
    expect(await owner.send('POST', fill(operation.path, address), body)).toMatchObject({ status: 402 });
  },
);
