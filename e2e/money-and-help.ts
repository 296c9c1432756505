/** What people do about money and help in the console: see what a month costs, apply a voucher, read an invoice, ask for help, and learn that they are suspended. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { auditDialog } from './accessibility.ts';
import { billLastMonth } from './billed-organization.ts';
import type { Installation } from './installation.ts';

interface Place {
  installation: Installation;
  organization: string;
  project: string;
}

export async function seesWhatIsPaid(page: Page, { installation, organization }: Place) {
  const { url, run } = installation;
  await page.goto(`${url}/console/organizations/${organization}/billing`);
  await page.getByText('Nothing costs anything here').waitFor();
  await billLastMonth(installation, organization);
  const { stdout } = await run(['voucher', 'create', '15', 'EUR']);
  const [code = ''] = /[A-Z0-9]{5}(-[A-Z0-9]{5}){3}/.exec(stdout) ?? [];
  await page.reload();

  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Apply a voucher' }).click();
  await dialog.getByLabel('Code').fill('AAAAA-BBBBB');
  await dialog.getByRole('button', { name: 'Apply it' }).click();
  await dialog.getByText('Code is not that of a voucher that can be applied').waitFor();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByLabel('Code').fill(code);
  await dialog.getByRole('button', { name: 'Apply it' }).click();
  await page.getByRole('row', { name: new RegExp(`${code}.*€15\\.00`) }).waitFor();

  await page.getByRole('button', { name: 'Change the details' }).click();
  await dialog.getByLabel('VAT number').fill('NL123456782B01');
  await dialog.getByRole('button', { name: 'Change the details' }).click();
  await page.getByText('NL123456782B01').waitFor();

  // An invoice is a document like any other: whoever has its address can read it.
  const invoices = page.getByRole('table', { name: 'Invoices' });
  await invoices.getByRole('row', { name: /^R000001 To be paid .*€35\.09/ }).waitFor();
  const pdf = await fetch((await invoices.getByRole('link', { name: 'PDF of the invoice R000001' }).getAttribute('href')) ?? '');
  expect([pdf.status, (await pdf.text()).slice(0, 5)]).toEqual([200, '%PDF-']);
  await run(['invoice', 'paid', 'R000001']);
  await page.reload();
  const order = page.getByRole('table', { name: 'Orders' }).getByRole('row', { name: /Paid .*€35\.09/ });
  await order.getByRole('link').first().click();
  const lines = page.getByRole('table', { name: 'Lines' });
  await lines.getByRole('row', { name: /^Users 2 users €20\.00/ }).waitFor();
  await lines.getByRole('row', { name: /^Total €35\.09/ }).waitFor();
  expect(await saved(page, 'Save as CSV')).toContain('Users,2 users,20,EUR');
}

/** A ticket with a file is opened, answered on the machine, replied to, and solved; answers are text, whatever they hold. Answers with its number. */
export async function asksForHelp(page: Page, { installation, organization }: Place): Promise<string> {
  const { url, run } = installation;
  await page.goto(`${url}/console/organizations/${organization}/support`);
  await page.getByRole('button', { name: 'Open a ticket' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Subject').fill('The shop is slow');
  await dialog.getByLabel('Category').selectOption('Bug report');
  await dialog.getByLabel('Priority').selectOption('high');
  await dialog.getByLabel('Description').fill('Every page takes a second.\nWe changed nothing.');
  await dialog.getByLabel('Files').setInputFiles({ name: 'trace.txt', mimeType: 'text/plain', buffer: Buffer.from('slow\n') });
  await dialog.getByRole('button', { name: 'Leave out trace.txt' }).waitFor();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Open the ticket' }).click();
  await page.getByRole('heading', { level: 1, name: 'The shop is slow' }).waitFor();
  const ticket = page.url().split('/').at(-1) ?? '';
  expect(await saved(page, 'trace.txt')).toBe('slow\n');

  await run(['ticket', 'answer', ticket], { input: 'Is it <b>every</b> page?\n' });
  await page.reload();
  await page.getByText('Is it <b>every</b> page?').waitFor();
  await page.getByLabel('Reply').fill('Yes.');
  await page.getByRole('button', { name: 'Send the reply' }).click();
  await page.getByRole('listitem').getByText('Yes.', { exact: true }).waitFor();
  await page.getByText('With support').waitFor();
  await page.getByRole('button', { name: 'Mark as solved' }).click();
  await dialog.getByRole('button', { name: 'Mark as solved' }).click();
  await page.getByText('Solved', { exact: true }).waitFor();

  await run(['ticket', 'close', ticket]);
  await page.reload();
  await page.getByRole('button', { name: 'Follow it up' }).waitFor();
  expect(await page.getByLabel('Reply').count()).toBe(0);
  await page.goto(`${url}/console/support`);
  await page.getByRole('row', { name: /^The shop is slow .* Closed Bug report High/ }).waitFor();
  return ticket;
}

/** Everywhere in the organization, in the sentence with which the API refuses; and no longer once it is over, without a reload. */
export async function isSuspended(page: Page, { installation, organization, project }: Place) {
  const { url, run } = installation;
  await run(['organization', 'suspend', 'acme', 'the invoice of October is not paid']);
  const banner = page.getByRole('status').filter({ hasText: 'is suspended (the invoice of October is not paid)' });
  for (const path of [`/projects/${project}`, `/projects/${project}/environments/main`, `/organizations/${organization}`]) {
    await page.goto(`${url}/console${path}`);
    await banner.getByText('You can still read, pay, open tickets and delete').waitFor();
  }
  expect(await page.getByRole('link', { name: 'New project' }).count()).toBe(0);
  await run(['organization', 'resume', 'acme']);
  await banner.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'New project' }).waitFor();
}

export async function saved(page: Page, button: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return readFile(await file.path(), 'utf8');
}
