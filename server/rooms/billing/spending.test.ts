import { beforeAll, expect, test } from 'vitest';
import { pay } from '../../../cli/invoice.ts';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { suspendOrganization } from '../organizations/work.ts';
import { markPastDue } from './payment/settle.ts';
import { invoiced, openBilledPlatform, type Billed, type BilledPlatform } from './test-billed.ts';
import { setFallback } from './work.ts';

const sourcesUrl = 'https://pay.example/methods';

let billing: BilledPlatform;
let db: BilledPlatform['db'];

beforeAll(async () => {
  billing = await openBilledPlatform({ OFFSHOOT_PAYMENT_SOURCES_URL: sourcesUrl });
  ({ db } = billing);
});

/** What one is told before, and what becomes of trying. */
async function asked({ owner, path, subscription }: Billed) {
  const { region } = billing.home.platform.config;
  const creation = (await owner.send('GET', `${path}/subscriptions/can-create`)).json;
  const change = (await owner.send('GET', `/subscriptions/${subscription}/can-update?plan=large&storage=102400`)).json;
  const refusals = [
    await owner.send('POST', `${path}/subscriptions`, { project_region: region.id }),
    await owner.send('POST', `${path}/projects`, { region: region.id }),
    await owner.send('PATCH', `${path}/subscriptions/${subscription}`, { plan: 'large', storage: 102_400 }),
    await owner.send('POST', `/subscriptions/${subscription}/can-afford`, { resources: { cpu: '1' } }),
  ];
  return { creation, change, refusals, statuses: refusals.map(({ status }) => status) };
}

const sourceEvent = (event: 'source_added' | 'source_removed', { id }: Billed) => ({ id: crypto.randomUUID(), event, organization_id: id });

/** All of them refuse with the sentence that was told before. */
function expectSameSentence({ creation, change, refusals, statuses }: Awaited<ReturnType<typeof asked>>, sentence: string) {
  expect(statuses).toEqual([402, 402, 402, 402]);
  expect([creation.can_create, change.can_update]).toEqual([false, false]);
  const sentences = [creation.message, change.message, ...refusals.map(({ json }) => json.message ?? json.detail)];
  for (const each of sentences) expect(each).toContain(sentence);
}

test('whoever pays by invoice in time can create and change, and what costs less is always possible', async () => {
  const billed = await billing.established();
  const { creation, change, statuses } = await asked(billed);
  expect(creation).toEqual({ can_create: true, message: '', required_action: null });
  expect(change).toEqual({ can_update: true, message: '' });
  expect(statuses).toEqual([201, 201, 200, 200]);
});

test('an organization of which the provider does not know how it pays can add nothing that costs more until it does', async () => {
  const billed = await billing.established();
  await billing.tell(sourceEvent('source_removed', billed));
  const answers = await asked(billed);
  expectSameSentence(answers, `The organization has not said how it pays; do so at ${sourcesUrl}?organization_id=${billed.id}.`);
  expect(answers.creation.required_action).toEqual({
    action: 'billing_details',
    type: 'payment_source',
    credentials: null,
    reference: `${sourcesUrl}?organization_id=${billed.id}`,
  });
  const smaller = { storage: 1024, project_title: 'Shop' };
  expect((await billed.owner.send('PATCH', `${billed.path}/subscriptions/${billed.subscription}`, smaller)).status).toBe(200);
  const added = sourceEvent('source_added', billed);
  expect((await billing.tell({ ...added, organization_id: 'nobody' })).status).toBe(400);
  await billing.tell(added);
  // Told again after it was removed, it is not heard again.
  await billing.tell(sourceEvent('source_removed', billed));
  await billing.tell(added);
  expect((await asked(billed)).statuses).toEqual([402, 402, 402, 402]);
  await billing.tell(sourceEvent('source_added', billed));
  expect((await asked(billed)).statuses).toEqual([201, 201, 200, 200]);
});

test('whoever does not pay in time can add nothing that costs more until they have', async () => {
  const debtor = await billing.established();
  const { invoice } = await invoiced(billing, debtor);
  expect((await debtor.owner.send('GET', `${debtor.path}/subscriptions/can-create`)).json.can_create).toBe(true);
  await markPastDue(billing.home.platform, Date.now() + 20 * 86_400_000);
  const answers = await asked(debtor);
  expectSameSentence(answers, `The invoice ${invoice.invoice_number} for`);
  expect(answers.change.required_action).toMatchObject({ action: 'billing_details', type: 'payment' });
  await pay(db, invoice.invoice_number);
  expect((await asked(debtor)).creation.can_create).toBe(true);
});

test('whoever only pays ahead can add what is prepaid for a month, and sees amounts where they may', async () => {
  const billed = await billing.established();
  // A plan and a user with tax come to 24.19 already.
  await notePrepayment(db, [billed.name, '30']);
  await setFallback(db, billed.id, null);
  const answers = await asked(billed);
  expectSameSentence(answers, '€30.00 are prepaid');
  expect(answers.creation.required_action).toMatchObject({ action: 'billing_details', type: 'prepayment' });
  const maker = await billing.home.person();
  await billed.owner.send('POST', `${billed.path}/members`, { user_id: maker.user.id, permissions: ['projects:create'] });
  const { message } = (await maker.send('GET', `${billed.path}/subscriptions/can-create`)).json;
  expect(message).toBe('A month with this costs more than is prepaid; ask whoever pays for the organization.');
  await notePrepayment(db, [billed.name, '500']);
  expect((await asked(billed)).statuses).toEqual([201, 201, 200, 200]);
});

test('a suspended organization is told why, and to ask', async () => {
  const billed = await billing.established();
  const { platform } = billing.home;
  await platform.db.transaction().execute((tx) => suspendOrganization(tx, platform, billed.id, 'the invoice of May is not paid'));
  const answers = await asked(billed);
  expectSameSentence(answers, 'is suspended (the invoice of May is not paid)');
  expect(answers.creation.required_action).toMatchObject({ action: 'ticket' });
});
