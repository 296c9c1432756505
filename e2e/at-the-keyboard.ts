/** What people do on a page, by what they see or hear of it. */
import type { Page } from 'playwright-core';

export async function signIn(page: Page, login: string, password: string) {
  await page.getByLabel('E-mail or username').fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** The name of what has the focus, as it is read out. */
export const focused = (page: Page) =>
  page.locator(':focus').evaluate((element) => {
    const { labels, textContent } = element as unknown as { labels?: Iterable<{ textContent: string }>; textContent: string };
    return [...(labels ?? [])].map((label) => label.textContent).join(' ') || textContent;
  });

const tabsMax = 10;

export async function tabTo(page: Page, name: string) {
  for (let tabs = 0; tabs < tabsMax; tabs++) {
    if ((await page.locator(':focus').count()) > 0 && (await focused(page)) === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${name} cannot be reached with the keyboard.`);
}

/** Replaces what stands in a field: coming with the tab key selects it. */
export async function typeInto(page: Page, name: string, text: string) {
  await tabTo(page, name);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}
