import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleMember, sampleOrganization } from '../../testing/samples.ts';
import { billingDetailsOf, billingRecipients } from './public.ts';
import { vatExamples } from './vat-number.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person({ strong: true });
});

test('an organization that has told nothing is addressed by its own country, and its owner is the billing contact', async () => {
  const { organization_id } = await sampleOrganization(owner);
  await owner.send('PATCH', `/organizations/${organization_id}`, { country: 'us' });
  expect((await owner.send('GET', `/organizations/${organization_id}/address`)).json).toMatchObject({ country: 'US', name_line: '' });
  expect((await owner.send('GET', `/organizations/${organization_id}/profile`)).json).toMatchObject({
    type: 'organization',
    display_name: 'Sample',
    currency: 'USD',
    billing_contact: owner.user.email,
    customer_type: 'corporation',
  });
});

test('each field of the address and the profile can be changed by itself, and the currency follows the address', async () => {
  const { organization_id } = await sampleOrganization(owner);
  const address = `/organizations/${organization_id}/address`;
  await owner.send('PATCH', address, { country: 'gb', locality: 'London' });
  expect((await owner.send('PATCH', address, { postal_code: 'W1' })).json).toMatchObject({
    country: 'GB',
    locality: 'London',
    postal_code: 'W1',
  });
  const profile = `/organizations/${organization_id}/profile`;
  await owner.send('PATCH', profile, { company_name: 'Engines', customer_type: 'indvidual' });
  expect((await owner.send('PATCH', profile, { vat_number: 'gb 980 7806 84', billing_contact: 'Pay@Example.org' })).json).toMatchObject({
    company_name: 'Engines',
    customer_type: 'individual',
    vat_number: 'GB980780684',
    billing_contact: 'pay@example.org',
    currency: 'GBP',
  });
  expect((await owner.send('PATCH', profile, { billing_contact: 'nobody' })).json).toMatchObject({
    detail: { billing_contact: 'must be an e-mail address' },
  });
  const { platform } = home;
  expect(await billingDetailsOf(platform.db, organization_id)).toMatchObject({
    address: { country: 'GB' },
    profile: { company_name: 'Engines', currency: 'GBP', billing_contact: 'pay@example.org' },
  });
});

test('a VAT number is one of its country in form and check digits, and the field is named where it is not', async () => {
  const { organization_id } = await sampleOrganization(owner);
  const told = (vat_number: string) => owner.send('PATCH', `/organizations/${organization_id}/profile`, { vat_number });
  const inCountry = (country: string) => owner.send('PATCH', `/organizations/${organization_id}/address`, { country });
  for (const example of vatExamples) expect([example, (await told(example)).json.vat_number]).toEqual([example, example]);
  await inCountry('DE');
  const refused = async (vat_number: string) => (await told(vat_number)).json.detail?.vat_number;
  expect(await refused('136695976')).toBe('must begin with the country, as in DE123456788');
  expect(await refused('DE1366959')).toBe('must be written as in DE123456788');
  expect(await refused('DE136695977')).toContain('check digits do not fit');
  // Of a company that is registered elsewhere, that country's form counts.
  expect((await told('FR 40 303 265 045')).json.vat_number).toBe('FR40303265045');
  await inCountry('GR');
  expect(await refused('094259216')).toBe('must begin with the country, as in EL123456783');
  expect((await told('EL094259216')).status).toBe(200);
  await inCountry('US');
  expect((await told('12-3456789')).json.vat_number).toBe('123456789');
  expect((await told('')).json.vat_number).toBe('');
});

test('about money, the owner, those who may see to billing and the billing contact are written to, each once', async () => {
  const { organization_id } = await sampleOrganization(owner);
  const payer = await sampleMember(owner, organization_id, ['billing']);
  await sampleMember(owner, organization_id, ['projects:create']);
  await owner.send('PATCH', `/organizations/${organization_id}/profile`, { billing_contact: owner.user.email });
  const { email } = await home.platform.db.selectFrom('users').select('email').where('id', '=', payer).executeTakeFirstOrThrow();
  expect(await billingRecipients(home.platform.db, organization_id)).toEqual([owner.user.email, email].sort());
});
