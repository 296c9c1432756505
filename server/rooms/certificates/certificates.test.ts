import { sql } from 'kysely';
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { testCertificate, type TestCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import { rooms } from '../../rooms.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { sourcesOf } from './obtain-certificates.ts';
import { keepCertificates, tellCertificates, tellWhenOpen } from './reconcilers.ts';

const { signal } = new AbortController();
const machine = openMemoryMachine(tmpdir());
let home: TestPlatform;
let ada: Person;
let authority: TestCertificate;
beforeAll(async () => {
  home = await openTestPlatform(rooms, () => Promise.resolve(machine));
  ada = await home.person();
  authority = await testCertificate('Test authority', { isAuthority: true });
  await tellWhenOpen.listen(home.platform, signal);
});

async function newProject() {
  const { projectId } = await sampleProject(ada);
  const at = `/projects/${projectId}/certificates`;
  const add = async (names: string[], fields: object = {}, days = { from: -1, to: 30 }) => {
    const { pem, keyPem } = await testCertificate('Shop', { by: authority, names, days });
    return ada.send('POST', at, { certificate: pem, key: keyPem, chain: [authority.pem], ...fields });
  };
  return { projectId, at, add };
}

/** Gives the environment main of the project a host, as a deployment does. */
const claim = (projectId: string, host: string) =>
  sql`insert into hosts (host, project_id, environment_id) values (${host}, ${projectId}, 'main')`.execute(home.platform.db);

/** The id of the certificate that the edge presents for each host. */
async function presented(): Promise<Record<string, string>> {
  await keepCertificates.run(home.platform, signal);
  await tellCertificates.run(home.platform, signal);
  return Object.fromEntries([...machine.edge.presented.values()].flatMap(({ id, names }) => names.map((name) => [name, id])));
}

describe('certificates that people give', () => {
  test('are added, listed, read and deleted; nobody is told the key', async () => {
    const { at, add } = await newProject();
    const added = await add(['www.given.example', '*.given.example']);
    expect(added).toMatchObject({ status: 201, json: { status: 'Created' } });
    const { entity } = added.json._embedded;
    expect(entity).toMatchObject({
      domains: ['www.given.example', '*.given.example'],
      is_provisioned: false,
      is_invalid: false,
      is_root: false,
      auth_type: ['serverAuth'],
      issuer: [{ oid: '2.5.4.3', alias: 'commonName', value: 'Test authority' }],
      chain: [expect.stringContaining('BEGIN CERTIFICATE')],
      _links: { '#edit': {}, '#delete': {} },
    });
    expect(Date.parse(entity.expires_at)).toBeGreaterThan(Date.now());
    expect(added.text).not.toMatch(/PRIVATE KEY|key_sealed/);
    expect((await ada.send('GET', at)).json).toMatchObject([{ id: entity.id }]);
    expect((await ada.send('GET', `${at}/${entity.id}`)).json).toMatchObject({ id: entity.id });
    expect((await ada.send('DELETE', `${at}/${entity.id}`)).status).toBe(200);
    expect((await ada.send('GET', at)).json).toEqual([]);
  });

  test('the same once more is kept once, also when it came with a domain', async () => {
    const { projectId, at } = await newProject();
    const { pem, keyPem } = await testCertificate('Once', { names: [`www.${projectId}.example`] });
    await ada.send('POST', at, { certificate: pem, key: keyPem });
    await ada.send('POST', at, { certificate: pem, key: keyPem });
    await ada.send('POST', `/projects/${projectId}/domains`, { name: `www.${projectId}.example`, ssl: { certificate: pem, key: keyPem } });
    expect((await ada.send('GET', at)).json).toHaveLength(1);
  });

  test.for([
    ['a key of another certificate', async () => ({ key: (await testCertificate('Other')).keyPem }), 'key', 'does not belong'],
    ['a chain that is not its own', async () => ({ chain: [(await testCertificate('Other', { isAuthority: true })).pem] }), 'chain', ''],
    ['no certificate', async () => ({ certificate: 'hello' }), 'certificate', 'PEM'],
  ] as const)('with %s they are refused by field', async ([, fields, field, words]) => {
    const { add } = await newProject();
    const refused = await add(['www.refused.example'], await fields());
    expect(refused.status).toBe(400);
    const [told = ''] = Object.keys(refused.json.detail);
    expect(told).toContain(field);
    expect(refused.json.detail[told]).toContain(words);
  });

  test('one that has expired is refused', async () => {
    const { add } = await newProject();
    expect((await add(['www.late.example'], {}, { from: -30, to: -1 })).json.detail.certificate).toContain('expired');
  });

  test('the chain can be replaced by one that fits, and by no other', async () => {
    const { at, add } = await newProject();
    const { id } = (await add(['www.chain.example'])).json._embedded.entity;
    const other = await testCertificate('Another', { isAuthority: true });
    expect((await ada.send('PATCH', `${at}/${id}`, { chain: [other.pem] })).status).toBe(400);
    expect((await ada.send('PATCH', `${at}/${id}`, { chain: [authority.pem] })).status).toBe(200);
  });

  test('of another project they cannot be seen', async () => {
    const { at, add } = await newProject();
    const { id } = (await add(['www.hidden.example'])).json._embedded.entity;
    const bob = await home.person();
    expect((await bob.send('GET', `${at}/${id}`)).status).toBe(404);
    expect((await ada.send('GET', `${(await newProject()).at}/${id}`)).status).toBe(404);
  });
});

describe('what the edge presents', () => {
  test('is the certificate of the project that has the host, and nobody else’s', async () => {
    const [mine, theirs] = [await newProject(), await newProject()];
    const { id } = (await mine.add(['www.mine.example', 'www.theirs.example'])).json._embedded.entity;
    await claim(mine.projectId, 'www.mine.example');
    await claim(theirs.projectId, 'www.theirs.example');
    const now = await presented();
    expect(now['www.mine.example']).toBe(id);
    expect(now['www.theirs.example']).not.toBe(id);
  });

  test('follows when a certificate is set aside, taken back, and deleted', async () => {
    const { projectId, at, add } = await newProject();
    const host = `www.${projectId}.example`;
    const { id } = (await add([host])).json._embedded.entity;
    await claim(projectId, host);
    expect((await presented())[host]).toBe(id);
    await ada.send('PATCH', `${at}/${id}`, { is_invalid: true });
    expect((await presented())[host]).not.toBe(id);
    await ada.send('PATCH', `${at}/${id}`, { is_invalid: false });
    expect((await presented())[host]).toBe(id);
    await ada.send('DELETE', `${at}/${id}`);
    expect((await presented())[host]).not.toBe(id);
    expect(machine.edge.presented.has(id)).toBe(false);
  });

  test('is told in a new version when the chain has changed', async () => {
    const { projectId, at, add } = await newProject();
    const { id } = (await add([`www.${projectId}.example`])).json._embedded.entity;
    await claim(projectId, `www.${projectId}.example`);
    await presented();
    const before = machine.edge.presented.get(id)?.version ?? 0;
    await ada.send('PATCH', `${at}/${id}`, { chain: [authority.pem] });
    await presented();
    expect(machine.edge.presented.get(id)?.version).toBeGreaterThan(before);
  });
});

describe('the provisioner of a project', () => {
  test('follows the settings until somebody chooses an authority, whose key nobody is told again', async () => {
    const { projectId } = await newProject();
    const at = `/projects/${projectId}/provisioners`;
    const [first] = (await ada.send('GET', at)).json;
    expect(first).toMatchObject({ directory_url: '', email: '', eab_kid: null, eab_hmac_key: null });
    const chosen = {
      directory_url: 'https://acme.example.org/directory',
      email: 'ada@example.org',
      eab_kid: 'k1',
      eab_hmac_key: 'c2VjcmV0',
    };
    const changed = await ada.send('PATCH', `${at}/${first.id}`, chosen);
    expect(changed.json._embedded.entity).toMatchObject({ ...chosen, eab_hmac_key: null });
    expect((await ada.send('PATCH', `${at}/${first.id}`, { email: 'bob@example.org' })).status).toBe(200);
    expect((await ada.send('GET', `${at}/${first.id}`)).json).toMatchObject({ email: 'bob@example.org', eab_kid: 'k1' });
    const { rows } = await sql<{ row: string }>`
      select row_to_json(certificate_provisioners)::text as row from certificate_provisioners where project_id = ${projectId}`.execute(
      home.platform.db,
    );
    expect(rows[0]?.row).toContain('k1');
    expect(rows[0]?.row).not.toContain('c2VjcmV0');
    await ada.send('PATCH', `${at}/${first.id}`, { directory_url: '', email: '', eab_kid: null });
    expect((await ada.send('GET', at)).json).toMatchObject([{ directory_url: '', email: '', eab_kid: null }]);
  });

  test.for([
    [{ directory_url: 'http://acme.example.org/directory' }, 'directory_url'],
    [{ eab_kid: 'k1' }, 'eab_hmac_key'],
    [{ eab_hmac_key: 'c2VjcmV0' }, 'eab_kid'],
    [{ email: 'nobody' }, 'email'],
  ] as const)('%j is refused', async ([change, field]) => {
    const { projectId } = await newProject();
    const refused = await ada.send('PATCH', `/projects/${projectId}/provisioners/acme`, change);
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.json.detail)).toContain(field);
  });
});

test('where automatic certificates are switched off for a project, its domain says that one has to be given', async () => {
  const { projectId, add } = await newProject();
  const name = `www.${projectId}.example`;
  await ada.send('POST', `/projects/${projectId}/domains`, { name });
  const ssl = async () => (await ada.send('GET', `/projects/${projectId}/domains/${name}`)).json.ssl;
  expect(await ssl()).toEqual({ has_certificate: false });
  expect((await ada.send('GET', `/projects/${projectId}/settings`)).json).toMatchObject({ enable_certificate_provisioning: true });
  await sql`update projects set settings = settings || '{"enable_certificate_provisioning": false}' where id = ${projectId}`.execute(
    home.platform.db,
  );
  expect((await ssl()).trouble).toContain('switched off for this project');
  expect((await sourcesOf(home.platform)).withoutAutomatic).toContain(projectId);
  await add([name]);
  expect(await ssl()).toMatchObject({ has_certificate: true });
  expect(await ssl()).not.toHaveProperty('trouble');
});
