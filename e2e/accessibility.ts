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
export async function auditConsole(page: Page, url: string, given: Readonly<Record<string, string>>): Promise<string[]> {
  const known = ['/', ...consolePages()].filter((path) =>
    [...path.matchAll(/\$(\w+)/g)].every(([, name = '']) => given[name] !== undefined),
  );
  const filled = known.map((path) => path.replaceAll(/\$(\w+)/g, (_, name: string) => encodeURIComponent(given[name] ?? '')));
  return auditPages(
    page,
    filled.map((path) => `${url}/console${path}`),
  );
}

export async function auditPages(page: Page, addresses: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const address of addresses) {
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.locator('.bones').first().waitFor({ state: 'detached' });
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
