/** What people do with a branch whose data is a copy: back it up, restore it, take over the data of its parent, and find their way with a few letters. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { auditDialog, widerThanPhone } from './accessibility.ts';

const doneMilliseconds = 240_000;

/** `home` is the project's page. The guestbook of main has been signed, and trial was branched off it. */
export async function looksAfterBranch(page: Page, home: string) {
  const trial = `${home}/environments/trial`;
  const dialog = page.getByRole('dialog');
  const menu = async (deed: string) => {
    await page.goto(trial);
    await page.getByLabel('Actions for trial').click();
    await page.getByRole('button', { name: deed, exact: true }).click();
  };

  await menu('Back up');
  await dialog.getByRole('button', { name: 'Back up' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.goto(`${trial}/backups`);
  await page.getByRole('row').getByText('Verified', { exact: true }).waitFor({ timeout: doneMilliseconds });

  await sign(page, trial, 'After the backup');
  await page.goto(`${trial}/backups`);
  await page.getByRole('button', { name: /^Restore the backup of/ }).click();
  await dialog.getByText('What was written there since').waitFor();
  expect(await auditDialog(page)).toEqual([]);
  expect(await dialog.getByRole('button', { name: 'Replace the data and restore' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Type trial to confirm').fill('trial');
  await dialog.getByRole('button', { name: 'Replace the data and restore' }).click();
  await settled(page, trial, /restored/);
  await opened(page, trial);
  await page.getByText('The first to be here').waitFor();
  expect(await page.getByText('After the backup').count()).toBe(0);

  await sign(page, `${home}/environments/main`, 'Later, on main');
  await page.goto(trial);
  await page.getByRole('button', { name: 'Synchronize', exact: true }).click();
  await dialog.getByRole('checkbox', { name: /^Data/ }).check();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByLabel('Type trial to confirm').fill('trial');
  await dialog.getByRole('button', { name: 'Synchronize' }).click();
  await settled(page, trial, /synchronized|synced/);
  await opened(page, trial);
  await page.getByText('Later, on main').waitFor();

  await menu('Deactivate');
  await dialog.getByLabel('Type trial to confirm').waitFor();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Merge', exact: true }).click();
  expect(await auditDialog(page)).toEqual([]);

  await findsTheWay(page, trial);
  const pages = ['', '/logs', '/observability', '/resources', '/backups', '/variables', '/runs', '/terminal'].map(
    (path) => `${trial}${path}`,
  );
  expect(await widerThanPhone(page, [home, ...pages])).toEqual([]);
}

/** By a few letters, and by the address of a line, which can be sent to somebody. */
async function findsTheWay(page: Page, trial: string) {
  await page.goto(trial);
  await page.getByRole('heading', { level: 1, name: 'trial' }).waitFor();
  await page.keyboard.press('ControlOrMeta+K');
  await page.getByRole('combobox', { name: 'Projects, environments, pages and actions' }).fill('main');
  await page.getByRole('option', { name: /^main/, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'main' }).waitFor();
  await page.goBack();
  const line = page
    .getByRole('region', { name: 'Log' })
    .getByRole('link', { name: /^Line \d+$/ })
    .first();
  const [number = ''] = /\d+/.exec((await line.getAttribute('aria-label')) ?? '') ?? [];
  await line.click();
  await page.waitForURL(new RegExp(`/activities/\\w+#L${number}$`));
  await page.reload();
  await page.locator(`li.shown#L${number}`).waitFor();
}

/** What was set off is the newest of the environment, and over. */
async function settled(page: Page, at: string, done: RegExp) {
  await page.goto(at);
  await page.getByRole('region', { name: 'Log' }).getByRole('heading', { name: done }).waitFor({ timeout: doneMilliseconds });
  await page.locator('.env-name').getByText('Active', { exact: true }).waitFor({ timeout: doneMilliseconds });
}

async function opened(page: Page, environment: string) {
  await page.goto(environment);
  await page.getByRole('link', { name: 'Open', exact: true }).click();
  await page.getByRole('heading', { name: /^Guestbook of/ }).waitFor();
}

async function sign(page: Page, environment: string, words: string) {
  await opened(page, environment);
  await page.getByLabel('Name').fill('Grace');
  await page.getByLabel('Words').fill(words);
  await page.getByRole('button', { name: 'Sign' }).click();
  await page.getByText(words).waitFor();
}
