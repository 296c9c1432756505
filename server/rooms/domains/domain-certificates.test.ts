import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { testCertificate, type TestCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { projectOf } from './test-projects.ts';

let home: TestPlatform;
let ada: Person;
let authority: TestCertificate;
beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person();
  authority = await testCertificate('Test authority', { isAuthority: true });
});

const newProject = () => projectOf(ada);

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
