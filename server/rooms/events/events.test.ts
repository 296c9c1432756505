import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person } from '../../testing/platform.ts';
import { kindsOfChanges } from './visible-changes.ts';

const home = await openTestPlatform();
const { db, changes } = home.platform;
let url: string;
beforeAll(async () => {
  url = await home.http.listen({ port: 0, host: '127.0.0.1' });
});

interface Event {
  event?: string;
  id?: string;
  data?: { kind: string; path: string };
}

const open: AbortController[] = [];
afterAll(() => open.forEach((each) => each.abort()));

/** A reader of the stream, as a browser is one. */
async function follow(person: Pick<Person, 'accessToken'>, position?: string) {
  const gone = new AbortController();
  open.push(gone);
  const headers = { authorization: `Bearer ${person.accessToken}`, ...(position !== undefined && { 'last-event-id': position }) };
  const reply = await fetch(`${url}/events`, { headers, signal: gone.signal });
  const events: Event[] = [];
  const state = { hasEnded: false };
  void read(reply, events).then(
    () => (state.hasEnded = true),
    () => (state.hasEnded = true),
  );
  return {
    status: reply.status,
    type: reply.headers.get('content-type'),
    events,
    state,
    changes: () => events.flatMap(({ event, data }) => (event === 'change' && data ? [data] : [])),
    paths: () => events.flatMap(({ event, data }) => (event === 'change' && data ? [data.path] : [])),
    position: () => events.findLast(({ id }) => id !== undefined)?.id ?? '',
    resets: () => events.filter(({ event }) => event === 'reset').length,
    leave: () => gone.abort(),
  };
}

async function read(reply: Response, events: Event[]) {
  let rest = '';
  for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + part).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) events.push(parsed(block));
  }
}

function parsed(block: string): Event {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
  const { data, ...others } = fields as { data?: string };
  return { ...others, ...(data !== undefined && data !== '{}' && { data: JSON.parse(data) as { kind: string; path: string } }) };
}

/** An organization with a project that has a production and a development environment. */
async function projectOf(owner: Person) {
  const organization: string = (await owner.send('POST', '/organizations', { label: 'Acme' })).json.id;
  const { json } = await owner.send('POST', `/organizations/${organization}/projects`, { region: 'offshoot', title: 'Shop' });
  const project: string = json.id;
  await environment(project, 'main', 'production');
  await environment(project, 'feature/one', 'development');
  return { organization, project };
}

const environment = (project: string, id: string, type: string) =>
  sql`insert into environments (project_id, id, machine_name, title, type) values (${project}, ${id}, ${id.replace('/', '-')}, ${id}, ${type})
    on conflict do nothing`.execute(db);

const touch = (project: string, id: string, title: string) =>
  sql`update environments set title = ${title} where project_id = ${project} and id = ${id}`.execute(db);

async function letIn(owner: Person, organization: string, project: string, person: Person, permissions: string[]) {
  await owner.send('POST', `/organizations/${organization}/members`, { user_id: person.user.id, permissions: [] });
  await owner.send('POST', `/projects/${project}/user-access`, [{ user_id: person.user.id, permissions }]);
}

describe('the stream of events', () => {
  test('tells a change by its address, to those who may see the thing and to nobody else', async () => {
    const [owner, viewer, stranger] = [await home.person(), await home.person(), await home.person()];
    const { organization, project } = await projectOf(owner);
    await letIn(owner, organization, project, viewer, ['viewer', 'development:viewer']);
    const [seenByOwner, seenByViewer, seenByStranger] = [await follow(owner), await follow(viewer), await follow(stranger)];
    expect(seenByOwner).toMatchObject({ status: 200, type: 'text/event-stream; charset=utf-8' });

    await touch(project, 'main', 'Production');
    await touch(project, 'feature/one', 'One');
    const development = { kind: 'environment', path: `/projects/${project}/environments/feature%2Fone` };
    await expect.poll(() => seenByOwner.changes()).toEqual(expect.arrayContaining([development]));
    await expect.poll(() => seenByViewer.changes()).toEqual(expect.arrayContaining([development]));
    expect(seenByOwner.paths()).toContain(`/projects/${project}/environments/main`);
    expect(seenByViewer.paths()).not.toContain(`/projects/${project}/environments/main`);

    // The stranger's own change comes after all others, so that none of those is still to come.
    await stranger.send('PATCH', `/users/${stranger.user.id}`, { first_name: 'Sam' });
    await expect.poll(() => seenByStranger.paths()).toContain(`/users/${stranger.user.id}`);
    expect(seenByStranger.paths().filter((path) => path.includes(project) || path.includes(organization))).toEqual([]);
  });

  test('tells nothing any more to somebody whose access was taken, from that moment on', async () => {
    const [owner, viewer] = [await home.person(), await home.person()];
    const { organization, project } = await projectOf(owner);
    await letIn(owner, organization, project, viewer, ['viewer', 'development:viewer']);
    const seen = await follow(viewer);
    await touch(project, 'feature/one', 'Before');
    await expect.poll(() => seen.paths()).toContain(`/projects/${project}/environments/feature%2Fone`);

    await owner.send('DELETE', `/projects/${project}/user-access/${viewer.user.id}`);
    await environment(project, 'later', 'development');
    await viewer.send('PATCH', `/users/${viewer.user.id}`, { first_name: 'Vic' });
    await expect.poll(() => seen.paths()).toContain(`/users/${viewer.user.id}`);
    expect(seen.paths()).not.toContain(`/projects/${project}/environments/later`);
  });

  test('ends when its token is honoured no longer', async () => {
    const owner = await home.person();
    const { project } = await projectOf(owner);
    const seen = await follow(owner);
    await expect.poll(() => seen.events.length).toBeGreaterThan(0);
    await sql`delete from api_tokens where user_id = ${owner.user.id}`.execute(db);
    await environment(project, 'later', 'development');
    await expect.poll(() => seen.state.hasEnded).toBe(true);
    expect(seen.paths()).not.toContain(`/projects/${project}/environments/later`);
    await expect.poll(() => changes.watchingFor(owner.user.id)).toBe(0);
  });

  test('begins with a request to look at everything, and goes on from where a reader was', async () => {
    const owner = await home.person();
    const { project } = await projectOf(owner);
    const first = await follow(owner);
    await expect.poll(() => first.resets()).toBe(1);
    await touch(project, 'main', 'One');
    await expect.poll(() => first.paths()).toContain(`/projects/${project}/environments/main`);
    await expect.poll(() => first.events.at(-1)?.id).toBeDefined();
    first.leave();

    await environment(project, 'missed', 'development');
    const again = await follow(owner, first.position());
    await expect.poll(() => again.paths()).toContain(`/projects/${project}/environments/missed`);
    expect(again.resets()).toBe(0);
    const unknown = await follow(owner, 'another-process-17');
    await expect.poll(() => unknown.resets()).toBe(1);
  });

  test('is refused to somebody who has too many of them', async () => {
    const person = await home.person();
    const many = await Promise.all(Array.from({ length: 30 }, () => follow(person)));
    const refused = await fetch(`${url}/events`, { headers: { authorization: `Bearer ${person.accessToken}` } });
    expect({ status: refused.status, message: ((await refused.json()) as { message: string }).message }).toEqual({
      status: 429,
      message: 'You are following what changes 30 times already; close one of them first.',
    });
    many.forEach(({ leave }) => leave());
    await expect.poll(() => changes.watchingFor(person.user.id)).toBe(0);
  });

  test('tells an activity to those who may see it, for the project and for its environment', async () => {
    const owner = await home.person();
    const { project } = await projectOf(owner);
    const seen = await follow(owner);
    await expect.poll(() => seen.resets()).toBe(1);
    await sql`insert into activities (id, project_id, type, queue, environments, environment_types, state)
      values (${`a${project}`}, ${project}, 'environment.push', 'deployments', '{main}', '{production}', 'complete')`.execute(db);
    await expect
      .poll(() => seen.paths())
      .toEqual(
        expect.arrayContaining([
          `/projects/${project}/activities/a${project}`,
          `/projects/${project}/environments/main/activities/a${project}`,
        ]),
      );
  });

  test('every kind that the database tells of has a permission', async () => {
    const { rows } = await sql<{ text: string }>`
      select pg_get_triggerdef(oid) as text from pg_trigger where not tgisinternal
      union all select prosrc from pg_proc where proname like 'tell\\_%'`.execute(db);
    const told = rows.flatMap(({ text }) =>
      [...text.matchAll(/tell_change(?:_in_project|_in_organization|_of_user)?\('([a-z-]+)'/g)].map(([, kind]) => kind),
    );
    expect(new Set(told)).toEqual(new Set(kindsOfChanges));
  });
});
