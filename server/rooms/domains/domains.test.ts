import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { projectOf, refusal, type TestProject } from './test-projects.ts';

let home: TestPlatform;
let ada: Person;
beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person({ first_name: 'Ada', last_name: 'Lovelace' });
});

const newProject = () => projectOf(ada);

test('a domain of production is added, read, changed and deleted at either level, each with one activity', async () => {
  const project = await newProject();
  const added = await project.add({ name: 'www.life.example', attributes: { team: 'web' } });
  expect(added).toMatchObject({ status: 201, json: { status: 'Created', code: 201 } });
  const { entity, activities } = added.json._embedded;
  const href = `/api${project.at}/domains/www.life.example`;
  expect(entity).toMatchObject({
    id: 'www.life.example',
    name: 'www.life.example',
    type: 'prod',
    project: project.projectId,
    registered_name: 'life.example',
    attributes: { team: 'web' },
    is_default: true,
    ssl: { has_certificate: false },
    _links: { self: { href }, '#edit': { href }, '#delete': { href } },
  });
  expect(entity).not.toHaveProperty('replacement_for');
  expect(activities).toMatchObject([
    {
      type: 'environment.domain.create',
      environments: ['main'],
      text: 'Ada Lovelace added domain **www.life.example** to Main',
      payload: { domain: { name: 'www.life.example' }, environment: { id: 'main' } },
    },
  ]);
  expect((await ada.send('GET', `${project.at}/domains`)).json).toMatchObject([{ id: 'www.life.example' }]);
  const viaEnvironment = await ada.send('GET', `${project.main}/domains/www.life.example`);
  expect(viaEnvironment.json).toMatchObject({
    is_default: true,
    _links: { self: { href: `/api${project.main}/domains/www.life.example` } },
  });

  expect((await ada.send('POST', `${project.main}/domains`, { name: 'blog.life.example' })).json._embedded.entity.is_default).toBe(false);
  const changed = await ada.send('PATCH', `${project.at}/domains/blog.life.example`, { is_default: true, attributes: {} });
  expect(changed.json._embedded).toMatchObject({ entity: { is_default: true }, activities: [{ type: 'environment.domain.update' }] });
  expect((await ada.send('GET', href)).json.is_default).toBe(false);
  expect((await ada.send('GET', project.at)).json.default_domain).toBe('blog.life.example');
  expect(await ada.send('PATCH', `${project.main}/domains/blog.life.example`, { is_default: false })).toMatchObject(
    refusal('is_default', 'make another one the default'),
  );

  const deleted = await ada.send('DELETE', `${project.main}/domains/blog.life.example`);
  expect(deleted).toMatchObject({ status: 200, json: { _embedded: { activities: [{ type: 'environment.domain.delete' }] } } });
  expect((await ada.send('GET', href)).json.is_default).toBe(true);
  expect((await ada.send('DELETE', `${project.at}/domains/blog.life.example`)).status).toBe(404);
});

test('an environment tells of its domains, and robots are let in with the first and shut out with the last', async () => {
  const project = await newProject();
  const preview = await project.branch();
  const look = async (at: string) => (await ada.send('GET', at)).json;
  const bare = { has_domains: false, default_domain: null, supports_restrict_robots: false, restrict_robots: true };
  expect([await look(project.main), await look(preview)]).toMatchObject([bare, bare]);
  await project.add({ name: 'robots.example' });
  await ada.send('POST', `${preview}/domains`, { name: 'stage.robots.example', replacement_for: 'robots.example' });
  const open = { has_domains: true, supports_restrict_robots: true, restrict_robots: false };
  expect(await look(project.main)).toMatchObject({ ...open, default_domain: 'robots.example' });
  expect(await look(preview)).toMatchObject({ ...open, default_domain: 'stage.robots.example' });
  await ada.send('PATCH', project.main, { restrict_robots: true });
  await project.add({ name: 'www.robots.example' });
  expect((await look(project.main)).restrict_robots).toBe(true);
  const gone = await ada.send('DELETE', `${project.at}/domains/robots.example`);
  expect(gone.json._embedded.activities).toMatchObject([{ environments: ['main', 'preview'] }]);
  expect(await look(preview)).toMatchObject(bare);
  expect(await look(project.main)).toMatchObject({ has_domains: true, default_domain: 'www.robots.example' });
});

describe('names', () => {
  let owned: TestProject;
  beforeAll(async () => {
    owned = await newProject();
  });

  test.for([
    ['BÜCHER.Names.Example.', 'xn--bcher-kva.names.example'],
    ['Upper.Names.Example', 'upper.names.example'],
    ['*.deep.names.example', '*.deep.names.example'],
    ['日本.names.example', 'xn--wgv71a.names.example'],
  ])('%s is kept as %s, and found by either', async ([given = '', kept = '']) => {
    const project = owned;
    expect((await project.add({ name: given })).json._embedded.entity).toMatchObject({
      id: kept,
      name: kept,
      registered_name: 'names.example',
    });
    for (const name of [given, kept]) {
      const { json } = await ada.send('GET', `${project.at}/domains/${encodeURIComponent(name)}`);
      expect(json.name).toBe(kept);
    }
    expect((await ada.send('DELETE', `${project.at}/domains/${encodeURIComponent(given)}`)).status).toBe(200);
  });

  test.for([
    ['192.0.2.1', 'not an address'],
    ['[2001:db8::1]', 'not an address'],
    ['0x7f.1', 'not an address'],
    ['localhost', 'must be a domain name'],
    ['a..example', 'must be a domain name'],
    ['a b.example', 'must be a domain name'],
    ['www.a.example/shop', 'must be a domain name'],
    ['www.a.example:8080', 'must be a domain name'],
    ['https://www.a.example', 'must be a domain name'],
    ['-a.example', 'must be a domain name'],
    ['under_score.a.example', 'must be a domain name'],
    ['*.*.a.example', 'must be a domain name'],
    [`${'a.'.repeat(130)}example`, 'must be a domain name'],
    ['shop.offshoot.localhost', 'a name of this platform'],
    ['OFFSHOOT.localhost.', 'a name of this platform'],
    ['*.localhost', 'must be a domain name'],
    ['co.uk', 'public suffix'],
    ['*.github.io', 'public suffix'],
  ])('%s is refused: %s', async ([name = '', words = '']) => {
    expect(await (await newProject()).add({ name })).toMatchObject(refusal('name', words));
  });

  test('what other fields are wrong is said by their names', async () => {
    const project = await newProject();
    expect(await project.add({})).toMatchObject({ status: 400, json: { detail: { name: expect.any(String) } } });
    const wrong = { name: 'a.fields.example', attributes: { a: 1 }, is_default: 'yes', colour: 'red' };
    const { status, json } = await project.add(wrong);
    expect([status, Object.keys(json.detail)]).toEqual([400, expect.arrayContaining(['is_default', 'colour'])]);
  });

  test('nobody has a name twice, also where a wildcard stands for it elsewhere', async () => {
    const project = await newProject();
    const preview = await project.branch();
    await project.add({ name: 'www.twice.example' });
    expect(await project.add({ name: 'WWW.twice.example' })).toMatchObject({
      status: 409,
      json: { message: expect.stringContaining('already') },
    });
    expect((await project.add({ name: '*.twice.example' })).status).toBe(201);
    const replaced = await ada.send('POST', `${preview}/domains`, { name: 'stage.twice.example', replacement_for: 'www.twice.example' });
    expect(replaced).toMatchObject({ status: 409, json: { message: expect.stringContaining('*.twice.example') } });
  });
});

test('a wildcard is the default only where there is nothing else', async () => {
  const project = await newProject();
  expect((await project.add({ name: '*.wild.example' })).json._embedded.entity.is_default).toBe(true);
  expect((await project.add({ name: 'wild.example' })).json._embedded.entity.is_default).toBe(true);
  const at = `${project.at}/domains/${encodeURIComponent('*.wild.example')}`;
  expect(await ada.send('PATCH', at, { is_default: true })).toMatchObject(refusal('is_default', 'many names'));
  expect((await ada.send('PATCH', project.at, { default_domain: '*.wild.example' })).status).toBe(400);
  await ada.send('DELETE', `${project.at}/domains/wild.example`);
  expect((await ada.send('GET', at)).json.is_default).toBe(true);
});

test('while a project has domains, production cannot move to another branch', async () => {
  const project = await newProject();
  await project.branch('next');
  await sql`update environments set parent = null where project_id = ${project.projectId}`.execute(home.platform.db);
  await project.add({ name: 'moves.example' });
  expect(await ada.send('PATCH', project.at, { default_branch: 'next' })).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('default domain must be a valid project domain') },
  });
});

test('the default domain can be chosen with the project', async () => {
  const project = await newProject();
  for (const name of ['one.chosen.example', 'two.chosen.example']) await project.add({ name });
  const { json } = await ada.send('PATCH', project.at, { default_domain: 'two.chosen.example' });
  expect(json._embedded).toMatchObject({
    entity: { default_domain: 'two.chosen.example' },
    activities: [{ type: 'environment.domain.update' }],
  });
  for (const default_domain of ['three.chosen.example', null])
    expect(await ada.send('PATCH', project.at, { default_domain })).toMatchObject({
      status: 400,
      json: { detail: { default_domain: expect.stringContaining('must be a valid project domain') } },
    });
});
