/** Every page of the console, as its tables of routes have them, held to what axe knows of accessibility: in light, in dark and in high contrast. */
import axe from 'axe-core';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { repository } from './installation.ts';

type Appearance = { colorScheme: 'light' | 'dark'; contrast: 'no-preference' | 'more' };

/** Colours are all that changes, so the first look finds the rest. */
const looks: readonly { appearance: Appearance; rules?: readonly string[] }[] = [
  { appearance: { colorScheme: 'light', contrast: 'no-preference' } },
  { appearance: { colorScheme: 'dark', contrast: 'no-preference' }, rules: ['color-contrast'] },
  { appearance: { colorScheme: 'light', contrast: 'more' }, rules: ['color-contrast'] },
  { appearance: { colorScheme: 'dark', contrast: 'more' }, rules: ['color-contrast'] },
];

/** The addresses of all pages for whoever is signed in: in each table the first path is the area's, and the others are below it. */
export function consolePages(): string[] {
  return globSync('console/pages/*/routes.tsx', { cwd: repository }).flatMap((file) => {
    const [area = '', ...pages] = [...readFileSync(join(repository, file), 'utf8').matchAll(/\bpath: '([^']+)'/g)].map(
      ([, path = '']) => path,
    );
    return pages.map((page) => (page === '/' ? area : `${area}${page}`));
  });
}

/** What is seriously wrong on which page; pages that need something else than what is given are left out. */
export const auditConsole = (page: Page, url: string, given: Given) => auditPages(page, addressesOf(url, given));

/** What the addresses of pages are filled in with, such as `project`. */
type Given = Readonly<Record<string, string>>;

/** Of all pages that need nothing else than what is given. */
export function addressesOf(url: string, given: Given): string[] {
  const known = ['/', ...consolePages()].filter((path) =>
    [...path.matchAll(/\$(\w+)/g)].every(([, name = '']) => given[name] !== undefined),
  );
  return known.map((path) => `${url}/console${path.replaceAll(/\$(\w+)/g, (_, name: string) => encodeURIComponent(given[name] ?? ''))}`);
}

/** On a phone nothing is wider than the screen: which pages are. */
export async function widerThanPhone(page: Page, addresses: readonly string[]): Promise<string[]> {
  const before = page.viewportSize();
  await page.setViewportSize(phone);
  const wide: string[] = [];
  for (const address of addresses) {
    await page.goto(address);
    await untilThere(page);
    const width = await page.evaluate<number>('document.scrollingElement.scrollWidth');
    if (width > phone.width) wide.push(`${new URL(address).pathname}: ${width} pixels`);
  }
  if (before) await page.setViewportSize(before);
  return wide;
}

const phone = { width: 390, height: 844 };

async function untilThere(page: Page) {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.locator('.bones').first().waitFor({ state: 'detached' });
}

/** The dialog that is open, in light and in dark. */
export async function auditDialog(page: Page): Promise<string[]> {
  const title = await page.getByRole('dialog').getByRole('heading').first().innerText();
  await page.locator('.bones').first().waitFor({ state: 'detached' });
  await page.evaluate(axe.source);
  const wrong: string[] = [];
  for (const look of looks.slice(0, 2)) wrong.push(...(await auditAs(page, look)).map((sentence) => `${title}: ${sentence}`));
  await page.emulateMedia({ colorScheme: null, contrast: null, reducedMotion: null });
  return wrong;
}

export async function auditPages(page: Page, addresses: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const address of addresses) {
    await page.goto(address);
    await untilThere(page);
    await page.evaluate(axe.source);
    for (const look of looks) wrong.push(...(await auditAs(page, look)).map((sentence) => `${new URL(address).pathname}: ${sentence}`));
  }
  await page.emulateMedia({ colorScheme: null, contrast: null, reducedMotion: null });
  return wrong;
}

const settled = `new Promise((settle) => requestAnimationFrame(() => requestAnimationFrame(settle)))
  .then(() => Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map(({ finished }) => finished)))
  .then(() => undefined)`;

async function auditAs(page: Page, { appearance, rules }: (typeof looks)[number]): Promise<string[]> {
  // Colours that are still changing from one appearance to the next would be measured half way.
  await page.emulateMedia({ ...appearance, reducedMotion: 'reduce' });
  await page.evaluate(settled);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) };
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id} in ${appearance.colorScheme} (contrast ${appearance.contrast}): ${nodes
          .map(({ target }) => target.join(' '))
          .slice(0, 3)
          .join(', ')}`,
    );
}
