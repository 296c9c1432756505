import { sql } from 'kysely';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { forgetDomains } from './work.ts';

let home: TestPlatform;
let ada: Person;
let eve: Person;
beforeAll(async () => {
  home = await openTestPlatform();
  [ada, eve] = [await home.person(), await home.person()];
});

async function projectOf(person: Person, organizationId?: string) {
  const { projectId, organization_id } = await sampleProject(person, organizationId);
  const at = `/projects/${projectId}`;
  return {
    projectId,
    organization_id,
    at,
    add: (name: string) => person.send('POST', `${at}/domains`, { name }),
    remove: (name: string) => person.send('DELETE', `${at}/domains/${name}`),
    claim: (name: string) => person.send('POST', `${at}/domain-claims`, { name }),
    claims: async () =>
      ((await person.send('GET', `${at}/domain-claims`)).json as { name: string; count: number }[]).map(({ name, count }) => [name, count]),
  };
}

const claimed = { status: 400, json: { detail: { error: expect.stringContaining('This domain is already claimed by another service') } } };
const unproven = { status: 400, json: { detail: { error: expect.stringContaining('has to be proven to be yours') } } };

/** What a refusal says is to be put up. */
function asked({ json }: { json: { message: string } }) {
  const [, record = '', value = ''] = /TXT record (\S+) to "([^"]+)"/.exec(json.message) ?? [];
  const [, page = '', text = ''] = /answer http:\/\/(\S+) with (\S+), and/.exec(json.message) ?? [];
  return { record, value, page, text };
}

test('a domain claims its registered name by the public suffix list, for one project of the installation', async () => {
  const [mine, theirs] = [await projectOf(ada), await projectOf(eve)];
  expect((await mine.add('foo.bar.shop.co.uk')).json._embedded.entity.registered_name).toBe('shop.co.uk');
  await mine.add('www.shop.co.uk');
  expect(await mine.claims()).toEqual([['shop.co.uk', 2]]);
  for (const name of ['shop.co.uk', 'else.shop.co.uk', '*.shop.co.uk']) expect(await theirs.add(name)).toMatchObject(claimed);
  expect((await theirs.add('other.co.uk')).status).toBe(201);
  expect((await theirs.add('me.github.io')).json._embedded.entity.registered_name).toBe('me.github.io');
  expect((await mine.add('you.github.io')).status).toBe(201);
});

test('of two who ask at once for the same registered name, one gets it', async () => {
  const projects = await Promise.all([projectOf(ada), projectOf(eve), projectOf(ada), projectOf(eve)]);
  const replies = await Promise.all(projects.map((project, n) => project.add(`www-${n}.race.example`)));
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400, 400, 400]);
});

test('the owner of a name can make a public suffix of it', async () => {
  const [mine, theirs] = [await projectOf(ada), await projectOf(eve)];
  await mine.add('a.suffix.example');
  expect(await theirs.add('www.b.suffix.example')).toMatchObject(claimed);
  home.domainRecords.texts.set('_public-suffix-root.suffix.example', 'public-suffix-root=suffix.example');
  expect((await theirs.add('www.b.suffix.example')).json._embedded.entity.registered_name).toBe('b.suffix.example');
  for (const name of ['suffix.example', '*.suffix.example']) expect((await theirs.add(name)).status).toBe(400);
  for (const name of ['x.b.suffix.example', '*.b.suffix.example', '*.suffix.example']) expect(await mine.add(name)).toMatchObject(claimed);
  expect((await mine.add('suffix.example')).status).toBe(201);
});

describe('a name that was given up', () => {
  test('goes to another organization only with a proof, in DNS or over HTTP; to another project of the same at once', async () => {
    const first = await projectOf(ada);
    await first.add('www.left.example');
    await first.add('left.example');
    await first.remove('www.left.example');
    expect(await first.claims()).toEqual([['left.example', 1]]);
    await first.remove('left.example');
    expect(await first.claims()).toEqual([]);

    const second = await projectOf(ada, first.organization_id);
    expect((await second.add('left.example')).status).toBe(201);
    await second.remove('left.example');

    const theirs = await projectOf(eve);
    const refused = await theirs.add('www.left.example');
    expect(refused).toMatchObject(unproven);
    const { record, value } = asked(refused);
    expect([record, value]).toEqual(['_offshoot-challenge.left.example', expect.stringMatching(/^offshoot-verification=\S{20,}$/)]);
    const others = await projectOf(eve);
    home.domainRecords.texts.set(record, value);
    expect(await others.add('www.left.example')).toMatchObject(unproven);
    expect((await theirs.add('www.left.example')).status).toBe(201);
    await theirs.remove('www.left.example');
    expect(await first.add('left.example')).toMatchObject(unproven);
  });

  test('is proven by a page of its own host, of that host alone', async () => {
    const first = await projectOf(ada);
    await first.add('page.example');
    await first.remove('page.example');
    const theirs = await projectOf(eve);
    const { page, text } = asked(await theirs.add('www.page.example'));
    expect(page).toMatch(/^page\.example\/\.well-known\//);
    home.domainRecords.pages.set(`www.${page}`, text);
    expect(await theirs.add('www.page.example')).toMatchObject(unproven);
    home.domainRecords.pages.set(page, text);
    expect((await theirs.add('www.page.example')).status).toBe(201);
  });

  test('is given up with its project and with its environment, too', async () => {
    const gone = await projectOf(ada);
    await gone.add('project.example');
    await home.platform.db.transaction().execute((tx) => forgetDomains(tx, gone.projectId));
    const theirs = await projectOf(eve);
    expect(await theirs.add('project.example')).toMatchObject(unproven);

    const mine = await projectOf(ada);
    await mine.add('kept.example');
    const row = { project_id: mine.projectId, id: 'preview', machine_name: 'preview-1234567', title: 'Preview', type: 'development' };
    await home.platform.db.insertInto('environments').values(row).execute();
    await ada.send('POST', `${mine.at}/environments/preview/domains`, { name: 'stage.example', replacement_for: 'kept.example' });
    await home.platform.db.deleteFrom('environments').where('project_id', '=', mine.projectId).where('id', '=', 'preview').execute();
    expect(await theirs.add('stage.example')).toMatchObject(unproven);
    expect((await mine.add('stage.example')).status).toBe(201);
  });
});

test('claims are made, read, proven and given up by name', async () => {
  const mine = await projectOf(ada);
  const made = await mine.claim('WWW.Claims.example');
  expect(made).toMatchObject({ status: 201, json: { _embedded: { entity: { id: 'claims.example', name: 'claims.example', count: 0 } } } });
  const at = `${mine.at}/domain-claims/claims.example`;
  await mine.add('www.claims.example');
  expect((await ada.send('GET', at)).json).toMatchObject({ count: 1 });
  expect(await ada.send('DELETE', at)).toMatchObject({ status: 409 });
  await mine.remove('www.claims.example');
  expect(await mine.claims()).toEqual([['claims.example', 0]]);
  const theirs = await projectOf(eve);
  expect(await theirs.claim('claims.example')).toMatchObject(claimed);
  expect((await ada.send('PATCH', at, {})).status).toBe(200);
  expect((await ada.send('DELETE', at)).status).toBe(200);
  expect((await ada.send('GET', at)).status).toBe(404);
  expect(await theirs.claim('claims.example')).toMatchObject(unproven);
  for (const name of ['co.uk', 'offshoot.localhost', '10.0.0.1']) expect((await mine.claim(name)).status).toBe(400);
});

test('the operator asks for proofs of one project, or spares one, whatever the installation asks for', async () => {
  const operator = await home.person({ is_operator: true });
  const [strict, other] = [await projectOf(ada), await projectOf(ada)];
  const requires = (at: string, requires_domain_ownership: boolean) =>
    operator.send('PATCH', `${at}/settings`, { requires_domain_ownership });
  expect((await requires(strict.at, true)).status).toBe(200);
  expect(await strict.add('strict.example')).toMatchObject(unproven);
  expect((await other.add('lenient.example')).status).toBe(201);
  home.platform.config.domainVerification = 'required';
  try {
    expect(await other.add('another.example')).toMatchObject(unproven);
    await requires(other.at, false);
    expect((await other.add('another.example')).status).toBe(201);
    expect((await ada.send('PATCH', `${other.at}/domain-claims/another.example`, {})).status).toBe(200);
  } finally {
    home.platform.config.domainVerification = 'released';
  }
});

describe('where the operator asks for proofs', () => {
  afterEach(() => {
    home.platform.config.domainVerification = 'released';
  });

  test('every registered name has to be proven once, and then its domains come and go', async () => {
    home.platform.config.domainVerification = 'required';
    const mine = await projectOf(ada);
    const refused = await mine.add('www.required.example');
    expect(refused).toMatchObject(unproven);
    expect(await mine.claims()).toEqual([]);
    const { record, value } = asked(refused);
    home.domainRecords.texts.set(record, value);
    expect((await mine.claim('required.example')).status).toBe(201);
    home.domainRecords.texts.delete(record);
    expect((await mine.add('www.required.example')).status).toBe(201);
    expect(await ada.send('PATCH', `${mine.at}/domain-claims/required.example`, {})).toMatchObject(unproven);
    const { rows } = await sql`select from domain_claims where name = 'required.example' and proven_at is not null`.execute(
      home.platform.db,
    );
    expect(rows).toHaveLength(1);
  });
});
