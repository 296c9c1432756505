import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { testCertificate, type TestCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { machineName } from '../environments/public.ts';

let home: TestPlatform;
let ada: Person;
let authority: TestCertificate;
beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person({ first_name: 'Ada', last_name: 'Lovelace' });
  authority = await testCertificate('Test authority', { isAuthority: true });
});

type Project = Awaited<ReturnType<typeof newProject>>;

async function newProject(owner = ada, organizationId?: string) {
  const { projectId, organization_id } = await sampleProject(owner, organizationId);
  const at = `/projects/${projectId}`;
  const add = (body: object) => owner.send('POST', `${at}/domains`, body);
  return { projectId, organization_id, at, add, main: `${at}/environments/main` };
}

/** An environment for development; answers where it is. */
async function branch({ projectId, at }: Project, id = 'preview') {
  await home.platform.db
    .insertInto('environments')
    .values({ project_id: projectId, id, machine_name: machineName(id, projectId), title: 'Preview', type: 'development', parent: 'main' })
    .execute();
  return `${at}/environments/${id}`;
}

const names = (rows: { name: string }[]) => rows.map(({ name }) => name);
const refusal = (field: string, words: string) => ({
  status: 400,
  json: { detail: { [field]: expect.stringContaining(words), error: expect.stringContaining(words) } },
});

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
  const preview = await branch(project);
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
  let owned: Project;
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
    const preview = await branch(project);
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

describe('beside production, a domain takes the place of one of production', () => {
  test('and each rule is answered as released clients read it', async () => {
    const project = await newProject();
    const preview = await branch(project);
    const add = (body: object, at = preview) => ada.send('POST', `${at}/domains`, body);
    expect(await add({ name: 'stage.rules.example' })).toMatchObject(refusal('replacement_for', 'is required'));
    expect(await add({ name: 'stage.rules.example', replacement_for: 'rules.example' })).toMatchObject({
      status: 409,
      json: {
        message: expect.stringContaining('has no corresponding domain set on the production environment'),
        detail: { 'prod-domains': [] },
      },
    });
    await project.add({ name: 'rules.example' });
    await project.add({ name: 'www.rules.example' });
    expect(await add({ name: 'stage.rules.example', replacement_for: 'other.example' })).toMatchObject({
      status: 409,
      json: { detail: { 'prod-domains': ['rules.example', 'www.rules.example'] } },
    });
    const added = await add({ name: 'stage.rules.example', replacement_for: 'RULES.example.' });
    expect(added).toMatchObject({
      status: 201,
      json: {
        _embedded: {
          entity: { type: 'replacement', replacement_for: 'rules.example', registered_name: 'rules.example' },
          activities: [{ type: 'environment.domain.create', environments: ['preview'] }],
        },
      },
    });
    expect(added.json._embedded.entity).not.toHaveProperty('is_default');
    expect(await add({ name: 'second.rules.example', replacement_for: 'rules.example' })).toMatchObject({
      status: 409,
      json: {
        message: expect.stringContaining('already has a domain with the same replacement_for'),
        detail: { conflicting_domain: 'stage.rules.example' },
      },
    });
    expect((await add({ name: 'second.rules.example', replacement_for: 'www.rules.example' })).status).toBe(201);
    expect(await add({ name: 'x.rules.example', replacement_for: 'rules.example' }, project.main)).toMatchObject(
      refusal('replacement_for', 'not production'),
    );
    expect(await project.add({ name: 'x.rules.example', replacement_for: 'rules.example' })).toMatchObject(
      refusal('replacement_for', 'not production'),
    );
    expect(await add({ name: 'x.rules.example', replacement_for: 'rules.example', is_default: true })).toMatchObject(
      refusal('is_default', 'production'),
    );
    const one = `${preview}/domains/stage.rules.example`;
    expect(await ada.send('PATCH', one, { is_default: true })).toMatchObject(refusal('is_default', 'deleted and added anew'));
    expect((await ada.send('PATCH', one, { attributes: { a: 'b' } })).json._embedded.entity.attributes).toEqual({ a: 'b' });
    expect(names((await ada.send('GET', `${preview}/domains`)).json)).toEqual(['stage.rules.example', 'second.rules.example']);
    expect(names((await ada.send('GET', `${project.at}/domains`)).json)).toEqual(['rules.example', 'www.rules.example']);
  });

  test('goes with it, and with its environment', async () => {
    const project = await newProject();
    const preview = await branch(project);
    await project.add({ name: 'goes.example' });
    await project.add({ name: 'www.goes.example' });
    await ada.send('POST', `${preview}/domains`, { name: 'stage.goes.example', replacement_for: 'goes.example' });
    await ada.send('POST', `${preview}/domains`, { name: 'stages.goes.example', replacement_for: 'www.goes.example' });
    await ada.send('DELETE', `${project.at}/domains/goes.example`);
    expect(names((await ada.send('GET', `${preview}/domains`)).json)).toEqual(['stages.goes.example']);
    await sql`delete from environments where project_id = ${project.projectId} and id = 'preview'`.execute(home.platform.db);
    expect((await project.add({ name: 'stages.goes.example' })).status).toBe(201);
  });

  test('five environments can have some; the sixth is told which', async () => {
    const project = await newProject();
    await project.add({ name: 'many.example' });
    const sites = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => branch(project, `preview-${n}`)));
    const add = (n: number) =>
      ada.send('POST', `${sites[n]}/domains`, { name: `stage-${n}.many.example`, replacement_for: 'many.example' });
    for (const n of [0, 1, 2, 3, 4]) expect((await add(n)).status).toBe(201);
    expect(await add(5)).toMatchObject({
      status: 402,
      json: {
        message: expect.stringContaining('5'),
        detail: {
          environments_with_domains_limit: 5,
          environments_with_domains: ['preview-1', 'preview-2', 'preview-3', 'preview-4', 'preview-5'],
        },
      },
    });
  });
});

describe('a certificate that comes along', () => {
  const keyed = async (wish: Parameters<typeof testCertificate>[1]) => {
    const { pem, keyPem } = await testCertificate('Leaf', { by: authority, ...wish });
    return { certificate: pem, key: keyPem, chain: [authority.pem] };
  };

  test('is kept, its key sealed, and only when it ends is told', async () => {
    const project = await newProject();
    const ssl = await keyed({ names: ['*.ssl.example'] });
    // As the released client sends a file with several certificates: with a piece too many.
    const chain = ['-----BEGIN CERTIFICATE-----', ...ssl.chain];
    const added = await project.add({ name: 'www.ssl.example', ssl: { ...ssl, chain } });
    expect(added.json._embedded.entity.ssl).toEqual({ has_certificate: true, expires_on: expect.stringMatching(/^20\d\d-/) });
    const { rows } = await sql<{ entry: string; key_sealed: string; id: string }>`
      select certificates::text as entry, key_sealed, id from certificates where project_id = ${project.projectId}`.execute(
      home.platform.db,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.entry).not.toContain('PRIVATE KEY');
    expect(home.platform.secrets.open(`certificate ${rows[0]?.id}`, rows[0]?.key_sealed ?? '')).toContain('PRIVATE KEY');
    for (const { text } of [added, await ada.send('GET', `${project.at}/domains/www.ssl.example`)])
      expect(text).not.toContain('PRIVATE KEY');
    expect((await project.add({ name: 'deep.www.ssl.example' })).json._embedded.entity.ssl).toEqual({ has_certificate: false });
    const later = await keyed({ names: ['deep.www.ssl.example'], days: { from: -1, to: 90 } });
    const patched = await ada.send('PATCH', `${project.at}/domains/deep.www.ssl.example`, { ssl: later });
    expect(patched.json._embedded.entity.ssl.has_certificate).toBe(true);
  });

  test.for([[null], [''], [[]], [{}], [{ certificate: '', key: '', chain: [] }]])('%o is none: one is had automatically', async ([ssl]) => {
    const added = await (await newProject()).add({ name: `${crypto.randomUUID()}.example`, ssl });
    expect(added).toMatchObject({ status: 201, json: { _embedded: { entity: { ssl: { has_certificate: false } } } } });
  });

  test('what is wrong with it is said by field, and nothing is added', async () => {
    const project = await newProject();
    const good = await keyed({ names: ['www.bad.example'] });
    const other = await keyed({ names: ['www.other.example'] });
    const expired = await keyed({ names: ['www.bad.example'], days: { from: -30, to: -1 } });
    for (const [ssl, field] of [
      [{ ...good, key: other.key }, 'ssl.key'],
      [{ ...good, certificate: 'rubbish' }, 'ssl.certificate'],
      [{ ...good, key: '' }, 'ssl.key'],
      [{ ...good, chain: ['rubbish'] }, 'ssl.chain[0]'],
      [{ ...good, chain: [] }, 'ssl.chain'],
      [other, 'ssl.certificate'],
      [expired, 'ssl.certificate'],
    ] as const) {
      const { status, json } = await project.add({ name: 'www.bad.example', ssl });
      expect([field, status, Object.keys(json.detail)]).toEqual([field, 400, expect.arrayContaining([field, 'error'])]);
    }
    expect((await ada.send('GET', `${project.at}/domains`)).json).toEqual([]);
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
  await branch(project, 'next');
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
