import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { gitlabWire } from '../../../drivers/code-hosts/gitlab/test-gitlab.ts';
import type { TestHost } from '../../../drivers/code-hosts/test-host.ts';
import { fingerprint } from '../../../kernel/secrets.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { attemptsOf } from '../../deliveries/public.ts';
import { isDue, rotateTokens } from './rotate-tokens.ts';
import { deliver, hostsOnThisMachine, serveHost } from './test-code-hosts.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, hostsOnThisMachine);
  owner = await home.person();
});

const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** An integration whose token has so many days to live. */
async function connect(days: number, change: object = {}) {
  const { platform } = home;
  const host = await serveHost(gitlabWire);
  const { projectId } = await sampleProject(owner);
  const body = {
    type: 'gitlab',
    token: host.state.token,
    project: 'acme/shop',
    base_url: host.state.origin,
    rotate_token: true,
    ...change,
  };
  const { json } = await owner.send('POST', `/projects/${projectId}/integrations`, body);
  const { id } = json._embedded.entity;
  await deliver(home);
  await sql`update integrations set settings = settings || ${JSON.stringify({ token_expires_at: daysFromNow(days) })}::jsonb where id = ${id}`.execute(
    platform.db,
  );
  const path = `/projects/${projectId}/integrations/${id}`;
  return {
    id: String(id),
    host,
    body,
    path,
    entity: json._embedded.entity,
    read: async () => (await owner.send('GET', path)).json,
    isValid: async () => (await owner.send('POST', `${path}/validate`)).status === 200,
    /** A look, and all that follows from it. */
    look: async () => {
      await sql`update deliveries set created_at = created_at - interval '13 hours' where integration_id = ${id}`.execute(platform.db);
      await rotateTokens.run(platform, new AbortController().signal);
      await sql`update delivery_lanes set due_at = now()`.execute(platform.db);
      await deliver(home);
    },
    trouble: async () => {
      const [last] = await platform.db
        .selectFrom('deliveries')
        .select('id')
        .where('integration_id', '=', id)
        .where('kind', '=', 'integration.rotate_token')
        .orderBy('id', 'desc')
        .limit(1)
        .execute();
      return last && (await attemptsOf(platform.db, last.id)).at(-1)?.trouble;
    },
  };
}

const rotations = ({ state }: TestHost) => state.requests.filter(({ path }) => path.endsWith('/rotate')).length;
/** What a process writes down before it asks GitLab, and crosses out after it has stored the answer. */
const noteRotation = (id: string, token: string) =>
  home.platform.db
    .insertInto('token_rotations')
    .values({ integration_id: id, token_fingerprint: fingerprint(token) })
    .execute();

test('when a token expires is told, as the host says', async () => {
  const { entity } = await connect(100);
  expect(entity.token_expires_at).toBe('2031-01-02');
});

test('a token is due a week before it expires, or after half of its time; never where nobody asked for it', () => {
  const values = (days: number, weeks = 4, rotate_token = true) => ({
    rotate_token,
    rotate_token_validity_in_weeks: weeks,
    token_expires_at: daysFromNow(days),
  });
  const due = [values(8), values(5), values(5, 1), values(2, 1), values(2, 4, false), { ...values(2), token_expires_at: null }];
  expect(due.map((each) => isDue(each, Date.now()))).toEqual([false, true, false, true, false, false]);
});

test('a token is replaced before it expires, once, and the new one is used', async () => {
  const { host, look, read, isValid } = await connect(5, { rotate_token_validity_in_weeks: 2 });
  await look();
  await look();
  expect([rotations(host), host.state.token, (await read()).token_expires_at]).toEqual([1, 'secret-token-2', daysFromNow(14)]);
  expect(await isValid()).toBe(true);
});

test('a token that has long to live, or is not to be replaced, stays', async () => {
  const [fresh, unasked] = [await connect(30), await connect(2, { rotate_token: false })];
  await fresh.look();
  await unasked.look();
  expect([rotations(fresh.host), rotations(unasked.host)]).toEqual([0, 0]);
});

test('after a kill before GitLab was asked, the token is replaced by whoever comes next', async () => {
  const { id, host, look, isValid } = await connect(5);
  await noteRotation(id, host.state.token);
  await look();
  expect([rotations(host), await isValid()]).toEqual([1, true]);
});

test('after a kill between the new token and its storing, nothing is rotated again; somebody is asked for a token, and with that it goes on', async () => {
  const { id, host, look, body, path, isValid, trouble } = await connect(5);
  await noteRotation(id, host.state.token);
  host.state.token = 'known-to-nobody';
  await look();
  expect([rotations(host), await trouble()]).toEqual([0, expect.stringContaining('Give the integration a new token')]);
  await owner.send('PATCH', path, { ...body, token: 'known-to-nobody' });
  await look();
  expect(await isValid()).toBe(true);
});

test('where the answer of GitLab does not arrive, the old token is tried before it is rotated again', async () => {
  const { host, look, isValid } = await connect(5);
  const asked = host.state.requests.length;
  host.state.instead.push({ status: 502, body: 'a proxy' });
  await look();
  expect(host.state.requests.slice(asked).map(({ path }) => path)).toEqual([expect.stringContaining('/rotate')]);
  await look();
  expect([rotations(host), await isValid()]).toEqual([2, true]);
});
