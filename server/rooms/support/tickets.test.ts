import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleMember, sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { tidyAttachments } from './attached-files.ts';
import { closeTicket, sayAbout } from './work.ts';

let home: TestPlatform;
let owner: Person;
let operator: Person;
const told: { body: string; signature: string | undefined }[] = [];

/** A help desk. */
const desk = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    told.push({ body, signature: request.headers['x-jws-signature'] as string | undefined });
    response.end();
  });
});

beforeAll(async () => {
  desk.listen(0, '127.0.0.1');
  await once(desk, 'listening');
  home = await openTestPlatform(undefined, undefined, {
    OFFSHOOT_SUPPORT_WEBHOOK_URL: `http://127.0.0.1:${(desk.address() as AddressInfo).port}/`,
    OFFSHOOT_SUPPORT_WEBHOOK_KEY: 'a-key-of-the-help-desk',
    OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1',
  });
  [owner, operator] = [await home.person({ strong: true }), await home.person({ is_operator: true })];
});

afterAll(() => desk.close());

const ask = (person: Person, more: object = {}) =>
  person.send('POST', '/tickets', { subject: 'Slow', description: 'It is slow.', ...more });
const lettersTo = async ({ user }: Person) => (await home.mail(user.email)).map(({ subject, text }) => `${subject}: ${text}`);

test('a ticket is confirmed, told to the operators and to the help desk, and seen by nobody else', async () => {
  const { json, status } = await ask(owner, { priority: 'high', category: 'incident_outage' });
  expect(status).toBe(200);
  expect(json).toMatchObject({ status: 'new', type: 'incident', priority: 'high', requester_id: owner.user.id });
  expect(await lettersTo(owner)).toEqual([expect.stringContaining(`[Ticket ${json.ticket_id}] Slow`)]);
  expect(await lettersTo(operator)).toEqual([expect.stringContaining('It is slow.')]);
  await expect
    .poll(() => told.map(({ body }) => JSON.parse(body)))
    .toContainEqual(expect.objectContaining({ event: 'opened', ticket: expect.objectContaining({ ticket_id: json.ticket_id }) }));
  expect(told[0]?.signature).toMatch(/^[\w-]+\.\.[\w-]+$/);

  const stranger = await home.person();
  expect((await stranger.send('GET', `/tickets/${json.ticket_id}`)).status).toBe(404);
  expect((await stranger.send('GET', '/tickets')).json).toMatchObject({ count: 0, tickets: [] });
  const { json: seen } = await operator.send('GET', `/tickets?filter[ticket_id]=${json.ticket_id}&filter[priority]=high`);
  expect(seen).toMatchObject({ count: 1, tickets: [{ subject: 'Slow' }] });
});

test('support answers, the requester replies and solves it, and what is closed stays closed', async () => {
  const person = await home.person();
  const path = `/tickets/${(await ask(person)).json.ticket_id}`;
  const status = async () => (await person.send('GET', path)).json.status;
  const answered = await operator.send('POST', `${path}/comments`, { text: 'Since when?' });
  expect(answered).toMatchObject({ status: 201, json: { is_answer: true } });
  expect(await status()).toBe('pending');
  expect((await lettersTo(person)).at(-1)).toContain('Since when?');
  await person.send('POST', `${path}/comments`, { text: 'Since today.' });
  expect(await status()).toBe('open');
  expect((await person.send('GET', `${path}/comments`)).json).toMatchObject({
    comments: [{ text: 'Since when?' }, { text: 'Since today.', is_answer: false }],
  });
  expect((await person.send('PATCH', path, { status: 'closed' })).status).toBe(403);
  expect((await person.send('PATCH', path, { priority: 'urgent' })).status).toBe(403);
  expect((await person.send('PATCH', path, { status: 'solved' })).json).toMatchObject({
    status: 'solved',
    resolution_time: expect.any(String),
  });
  const letters = (await lettersTo(operator)).length;
  expect(await person.send('PATCH', path, { status: 'solved' })).toMatchObject({ status: 204, text: '' });
  expect(await lettersTo(operator)).toHaveLength(letters);
  await operator.send('PATCH', path, { status: 'closed', zd_ticket_url: 'https://desk.example/7' });
  expect((await person.send('PATCH', path, { status: 'open' })).status).toBe(409);
  expect((await person.send('POST', `${path}/comments`, { text: 'Again.' })).status).toBe(409);
  const { json } = await ask(person, { followup_tid: path.split('/').at(-1) });
  expect(json.followup_tid).toBe(path.split('/').at(-1));
});

test('people of the organization can be let in, and others cannot', async () => {
  const { organization_id, project_id } = await sampleProject(owner);
  const { json: contract } = await owner.send('GET', `/organizations/${organization_id}/projects/${project_id}`);
  const fellow = await home.person();
  await owner.send('POST', `/organizations/${organization_id}/members`, { user_id: fellow.user.id, permissions: [] });
  const { json } = await ask(owner, { subscription_id: contract.subscription_id, collaborator_ids: [fellow.user.id] });
  expect(json).toMatchObject({ organization_id, subscription_id: contract.subscription_id, collaborator_ids: [fellow.user.id] });
  const path = `/tickets/${json.ticket_id}`;
  expect((await fellow.send('GET', path)).status).toBe(200);
  expect((await fellow.send('GET', '/tickets?search=IT%20IS')).json).toMatchObject({ count: 1 });
  expect((await lettersTo(fellow)).at(-1)).toContain('opened the ticket');

  const stranger = await home.person();
  expect((await owner.send('PATCH', path, { collaborator_ids: [stranger.user.id] })).status).toBe(400);
  expect((await ask(stranger, { subscription_id: contract.subscription_id })).json.detail).toHaveProperty('subscription_id');
  expect((await ask(stranger, { organization_id })).json.detail).toHaveProperty('organization_id');
  expect((await ask(stranger, { followup_tid: String(json.ticket_id) })).json.detail).toHaveProperty('followup_tid');
  expect((await ask(stranger, { requester_id: owner.user.id })).status).toBe(403);

  const other = await sampleMember(owner, organization_id);
  await owner.send('PATCH', path, { collaborator_ids: [other], collaborators_replace: true });
  expect((await fellow.send('GET', path)).status).toBe(404);
});

test('files come back as they were sent, to those who see the ticket, and are bounded', async () => {
  const data = Buffer.from('a trace\n').toString('base64');
  const path = `/tickets/${(await ask(owner, { attachments: [{ filename: 'trace.txt', data }] })).json.ticket_id}`;
  const { json } = await owner.send('GET', `${path}/attachments`);
  expect(json).toMatchObject({ attachments: [{ filename: 'trace.txt', size: 8 }] });
  const file = `${path}/attachments/${json.attachments[0].id}`;
  expect((await owner.send('GET', file)).json).toMatchObject({ data });
  expect((await (await home.person()).send('GET', file)).status).toBe(404);
  const half = Buffer.alloc(300 * 1024).toString('base64');
  const tooMuch = [1, 2].map((number) => ({ filename: `${number}`, data: half }));
  expect((await ask(owner, { attachments: tooMuch })).status).toBe(413);
  const elsewhere = `/tickets/${(await ask(owner)).json.ticket_id}`;
  expect((await owner.send('GET', `${elsewhere}/attachments/${json.attachments[0].id}`)).status).toBe(404);
});

test('files are kept outside the database, moved there from older versions, and gone with their ticket', async () => {
  const { db, config } = home.platform;
  const folder = join(config.data, 'attachments');
  const kept = () => readdir(folder).catch(() => []);
  const before = (await kept()).length;
  const data = Buffer.from([0, 1, 2, 255]).toString('base64');
  const { ticket_id } = (await ask(owner, { attachments: [{ filename: 'core', data }] })).json;
  const rows = () => db.selectFrom('ticket_attachments').selectAll().where('ticket_id', '=', ticket_id).orderBy('id').execute();
  const [first] = await rows();
  expect(first).toMatchObject({ content: null, size: 4 });
  expect(await readFile(join(folder, first?.file ?? ''))).toEqual(Buffer.from([0, 1, 2, 255]));

  await operator.send('PATCH', `/tickets/${ticket_id}`, { status: 'closed' });
  const late = { text: 'Another one.', attachments: [{ filename: 'late', data }] };
  expect((await owner.send('POST', `/tickets/${ticket_id}/comments`, late)).status).toBe(409);
  expect(await kept()).toHaveLength(before + 1);

  const old = { ticket_id, filename: 'old', content: Buffer.from('old'), size: 3 };
  await db.insertInto('ticket_attachments').values(old).execute();
  const tidy = () => tidyAttachments.run(home.platform, new AbortController().signal);
  await tidy();
  const [, moved] = await rows();
  expect(moved).toMatchObject({ content: null, file: expect.any(String) });
  expect((await owner.send('GET', `/tickets/${ticket_id}/attachments/${moved?.id}`)).json).toMatchObject({ data: btoa('old'), size: 3 });

  await db.deleteFrom('tickets').where('id', '=', ticket_id).execute();
  await tidy();
  expect(await kept()).toHaveLength(before + 2);
  const longAgo = new Date(Date.now() - 2 * 3_600_000);
  for (const { file } of [first, moved].filter((row) => row !== undefined)) await utimes(join(folder, file ?? ''), longAgo, longAgo);
  await tidy();
  expect(await kept()).toHaveLength(before);
});

test('operators see all tickets, answer and close them in the API; what changes nothing tells nobody', async () => {
  const person = await home.person();
  const { ticket_id } = (await ask(person, { subject: 'For operators' })).json;
  const { json } = await operator.send('GET', '/tickets?search=for%20operators');
  expect(json).toMatchObject({ count: 1, tickets: [{ ticket_id, _links: { update: {}, comment: {}, comments: {}, attachments: {} } }] });
  const path = `/tickets/${ticket_id}`;
  expect((await operator.send('PATCH', path, { priority: 'high', assignee_id: operator.user.id })).json).toMatchObject({
    priority: 'high',
  });
  expect((await lettersTo(person)).at(-1)).toContain('Priority: high');
  const letters = (await lettersTo(person)).length;
  expect((await operator.send('PATCH', path, { priority: 'high', assignee_id: operator.user.id })).status).toBe(204);
  expect(await lettersTo(person)).toHaveLength(letters);
  expect((await operator.send('PATCH', path, { status: 'closed' })).json).toMatchObject({ status: 'closed' });
  expect((await lettersTo(person)).at(-1)).toContain('Status: closed');
  await expect
    .poll(() =>
      told
        .map(({ body }) => JSON.parse(body))
        .filter(({ ticket }) => ticket.ticket_id === ticket_id)
        .map(({ event }) => event),
    )
    .toEqual(['opened', 'changed', 'changed']);
});

test('the operator at the machine answers and closes, and the requester is told', async () => {
  const person = await home.person();
  const { organization_id } = await sampleOrganization(person);
  const { ticket_id } = (await ask(person, { organization_id })).json;
  await sayAbout(home.platform, ticket_id, true, undefined, { text: 'Try again.' });
  await closeTicket(home.platform, ticket_id);
  expect((await lettersTo(person)).slice(-2)).toEqual([
    expect.stringContaining('Support answered.'),
    expect.stringContaining('Status: closed'),
  ]);
});
