import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessToken, exchange, send } from './api.ts';
import { createInstallation, type Installation } from './installation.ts';
import { postgresIn } from './processes.ts';

const stackTrace = /^\s+at /m;

type Run = Installation['run'];

const said = async (run: Run, ...args: string[]) => {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};

/** All that an operator does for a new colleague. Answers the API token that was made for them. */
async function welcome(run: Run, name: string): Promise<string> {
  const email = `${name}@example.org`;
  expect(await said(run, 'user', 'create', email)).toMatch(new RegExp(`^Created ${email} with the password \\S{20,}\n$`));
  expect(await said(run, 'user', 'list')).toMatch(new RegExp(`^${email} +${name} +\\d{4}-\\d\\d-\\d\\d\n`, 'm'));
  const token = await said(run, 'token', 'create', email, 'laptop');
  expect(token).toMatch(/^\S{40,}\n$/);
  return token.trim();
}

describe('operator commands beside a running platform', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation();
    await installation.start();
  });
  afterAll(() => installation?.[Symbol.asyncDispose]());

  test('are known to it at once', async () => {
    const { url, run } = installation;
    const grace = await accessToken(url, await welcome(run, 'grace'));
    expect(await send(url, grace, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email: 'grace@example.org' } });
    const unnamed = [await said(run, 'token', 'create', 'grace@example.org'), await said(run, 'token', 'create', 'grace@example.org')];
    expect(new Set(unnamed).size).toBe(2);
  });

  test('a new password signs its user out everywhere at once, and only them', async () => {
    const { url, run } = installation;
    const apiToken = await welcome(run, 'joan');
    const [joan, ada] = [await accessToken(url, apiToken), await accessToken(url, await welcome(run, 'ada'))];
    const status = async (token: string) => (await send(url, token, 'GET', '/users/me')).status;
    expect([await status(joan), await status(ada)]).toEqual([200, 200]);
    expect(await said(run, 'user', 'password', 'joan@example.org')).toMatch(/^joan@example.org was signed out everywhere and .+\n$/);
    expect([await status(joan), await status(ada)]).toEqual([401, 200]);
    expect(await status(await accessToken(url, apiToken))).toBe(200);
  });

  test('quotas are shown and changed, also those that hold for everybody', async () => {
    const { url, run } = installation;
    const token = await accessToken(url, await welcome(run, 'edsger'));
    const { id, name } = (await send(url, token, 'POST', '/organizations', { label: 'Frugal' })).json;
    const project = () => send(url, token, 'POST', `/organizations/${id}/projects`, { region: 'offshoot', title: 'Shop' });
    expect(await said(run, 'quota', 'list')).toMatch(
      /^default, .*: projects 100, environments 500, .*, builds 4 at once, activities 1000 waiting\n$/,
    );
    expect(await said(run, 'quota', 'set', 'default', 'projects=1')).toMatch(/: projects 1, environments 500, /);
    expect([(await project()).status, (await project()).status]).toEqual([201, 402]);
    expect(await said(run, 'quota', 'set', 'organization', name, 'projects=2')).toMatch(/^organization frugal: projects 1 of 2, /);
    expect((await project()).status).toBe(201);
    await said(run, 'quota', 'set', 'default', 'projects=100');
  });

  test('an organization is suspended and resumed, and its requests are answered accordingly', async () => {
    const { url, run } = installation;
    const token = await accessToken(url, await welcome(run, 'barbara'));
    const { id, name } = (await send(url, token, 'POST', '/organizations', { label: 'Late Payers' })).json;
    const found = async () => (await send(url, token, 'GET', `/organizations/${id}`)).json.status;
    const project = () => send(url, token, 'POST', `/organizations/${id}/projects`, { region: 'offshoot', title: 'Shop' });
    expect(await said(run, 'organization', 'suspend', name, 'October is not paid')).toMatch(/^Late Payers is suspended: .*\n$/);
    expect(await found()).toBe('suspended');
    expect(await project()).toMatchObject({
      status: 402,
      json: { message: expect.stringContaining('Late Payers is suspended (October is not paid)') },
    });
    expect(await run(['organization', 'suspend', name])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is suspended already'),
    });
    expect(await said(run, 'organization', 'resume', name)).toMatch(/^Late Payers is resumed: .*\n$/);
    expect([await found(), (await project()).status]).toEqual(['active', 201]);
    expect(await run(['organization', 'resume', name])).toMatchObject({ code: 1, stderr: expect.stringContaining('is not suspended') });
    expect(await run(['organization', 'resume', 'nobody'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no organization nobody'),
    });
  });

  test('what people wrote in a ticket is shown, and what would command the terminal is not', async () => {
    const { url, run } = installation;
    const token = await accessToken(url, await welcome(run, 'mallory'));
    const hostile = 'Help\u001b]0;owned\u0007\u001b[2J\u009b31m\r\b\u202e';
    const data = Buffer.from('x').toString('base64');
    const ticket = { subject: 'Slow', description: hostile, attachments: [{ filename: 'trace.txt', data }] };
    const { json } = await send(url, token, 'POST', '/tickets', ticket);
    const shown = await said(run, 'ticket', 'show', String(json.ticket_id));
    expect(shown).toContain('Help\u{fffd}]0;owned\u{fffd}\u{fffd}[2J\u{fffd}31m\u{fffd}\u{fffd}\u{fffd}\n');
    // oxlint-disable-next-line no-control-regex -- they are what this is about
    expect(shown + (await said(run, 'ticket', 'list'))).not.toMatch(/[\0-\b\v-\u001f\u007f-\u009f]/);
    expect(shown).toContain('Attached: trace.txt, 1 bytes');
  });

  test('prices, vouchers, discounts and prepayments are what the API then shows', async () => {
    const { url, run, data } = installation;
    const token = await accessToken(url, await welcome(run, 'thrifty'));
    const { id, name } = (await send(url, token, 'POST', '/organizations', { label: 'Thrifty', country: 'NL' })).json;
    const shown = async (part: string) => (await send(url, token, 'GET', `/organizations/${id}/${part}`)).json;
    const file = join(data, '..', 'prices.yaml');
    writeFileSync(file, `currency: EUR\nfrom: ${new Date().toISOString().slice(0, 7)}-01\nlicences: { admin_user: 10 }\nallowance: 5\n`);
    expect(await said(run, 'prices', 'set', file)).toMatch(/^Version 1 is set: prices in EUR/);
    const [, code = ''] = /^The voucher (\S+) is worth €50.00/.exec(await said(run, 'voucher', 'create', '50', 'EUR')) ?? [];
    expect((await send(url, token, 'POST', `/organizations/${id}/vouchers/apply`, { code })).status).toBe(204);
    expect(await said(run, 'voucher', 'list')).toBe(`${code}  €50.00  €50.00 left  ${name}\n`);
    expect(await shown('vouchers')).toMatchObject({ vouchers_remaining_balance: '50.00', vouchers: [{ code }] });
    expect(await said(run, 'discount', 'create', name, 'allowance', 'default', '3')).toContain(
      'takes €5.00 off each month of Thrifty, for 3 months',
    );
    expect(await said(run, 'discount', 'list')).toMatch(new RegExp(`^1  ${name}  allowance  €5.00 a month  active  from `));
    expect(await said(run, 'discount', 'end', '1')).toContain('takes nothing off any more');
    expect((await shown('discounts')).items).toMatchObject([{ id: 1, status: 'deactivated' }]);
    expect(await said(run, 'prepayment', 'add', name, '20', 'Cash')).toBe('Thrifty has €20.00 prepaid.\n');
    expect(await said(run, 'prepayment', 'take', name, '7.50')).toBe('Thrifty has €12.50 prepaid.\n');
    expect(await said(run, 'prepayment', 'fallback', name, 'none')).toContain('only as far as its balance goes');
    expect(await shown('prepayment')).toMatchObject({ prepayment: { balance: { amount: 12.5 }, sufficient: true, fallback: null } });
    expect(await shown('estimate?current_month=false')).toMatchObject({ sub_total: '€10.00', vouchers: '€10.00', total: '€0.00' });
    expect(await said(run, 'invoice', 'list')).toBe('Nothing is open; --all shows all invoices.\n');
    for (const args of [
      ['paid', 'R1'],
      ['correct', 'R1', '5', 'Wrong'],
    ])
      expect(await run(['invoice', ...args])).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no invoice R1') });
  });

  test('say in a sentence what is wrong', async () => {
    const { run } = installation;
    await said(run, 'user', 'create', 'mary@example.org');
    const wrong: [string[], RegExp][] = [
      [['user', 'create', 'mary@example.org', '--username', 'other'], /belongs to another user/],
      [['user', 'create', 'other@example.org', '--username', 'mary'], /username is taken/],
      [['user', 'create', 'nobody'], /Give an e-mail address/],
      [['user', 'password', 'eve@example.org'], /There is no user eve@example.org/],
      [['token', 'create', 'eve@example.org'], /There is no user eve@example.org/],
    ];
    const misused: [string[], RegExp][] = [
      [['user', 'create', 'eve@example.org', '--passwort'], /^offshoot: Unknown option '--passwort'; .*\n$/],
      [['user', 'create', 'eve@example.org', '--username'], /^offshoot: Option '--username <value>' argument missing; .*\n$/],
      [['user', 'list', 'eve'], /^offshoot: \.\/offshoot user list takes no "eve"; it is used like this: \.\/offshoot user list\n$/],
      [['backup', 'platform', '--from', 'elsewhere'], /^offshoot: \.\/offshoot backup platform takes no --from; .* \[--to PLACE\]\n$/],
    ];
    for (const [list, expected] of [
      [wrong, 1],
      [misused, 2],
    ] as const)
      for (const [args, sentence] of list) {
        const { code, stdout, stderr } = await run(args);
        expect({ args, code, stdout, stderr }).toEqual({ args, code: expected, stdout: '', stderr: expect.stringMatching(sentence) });
        expect(stderr).not.toMatch(stackTrace);
      }
    const short = await run(['user', 'password', 'mary@example.org', '--password-stdin'], { input: 'short\n' });
    expect(short).toMatchObject({ code: 1, stderr: expect.stringContaining('8 to 200 characters') });
  });
});

test('operator commands work while the platform is stopped, and before it was ever started', async () => {
  await using installation = await createInstallation();
  const { url, run, data } = installation;
  // Where there is none, nothing is made by looking.
  const none = await run(['backup', 'list']);
  expect(none).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/There is no installation in .*start makes one, .*restore platform brings one back/),
  });
  expect(existsSync(join(data, 'postgres'))).toBe(false);
  const first = await welcome(run, 'ada');
  expect(postgresIn(data)).toEqual([]);
  const platform = await installation.start();
  await platform.credentials();
  expect((await exchange(url, first)).status).toBe(200);
  await platform.stop();
  const second = await welcome(run, 'grace');
  expect(postgresIn(data)).toEqual([]);
  await installation.start();
  expect((await exchange(url, second)).status).toBe(200);
});
