/**
 * Pictures of the console for the documents: `./offshoot screenshots`. A platform of its own gets a project with a tree of environments, people who visit it, and
 * a push that fails; then each page is looked at in light, in dark and on a phone. They are written to docs/screenshots; look at each before it is committed.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { billLastMonth } from './billed-organization.ts';
import { openBrowser } from './browser.ts';
import { eventually } from './eventually.ts';
import { createInstallation, repository } from './installation.ts';
import { firstPerson, openProject, type Person, type Project } from './open-project.ts';
import { visit } from './visit.ts';

const folder = join(repository, 'docs', 'screenshots');
const builtSecondsMax = 120;
const recordedSecondsMax = 90;
const visits = 40;

/** Colours are few, so a palette makes the files small. */
const looks = {
  light: { colorScheme: 'light', width: 1360, height: 850 },
  dark: { colorScheme: 'dark', width: 1360, height: 850 },
  phone: { colorScheme: 'light', width: 390, height: 844 },
} as const;
type Look = keyof typeof looks;

interface Picture {
  name: string;
  path: string;
  looks: readonly Look[];
  /** What is done on the page before, such as opening a dialog. */
  first?: (page: Page) => Promise<void>;
}

async function main() {
  await using installation = await createInstallation();
  const started = await installation.start();
  const { email, password } = await started.credentials();
  const person = await firstPerson(installation.url, started);
  const { project, failed } = await fill(person);
  await billLastMonth(installation, await organizationOf(person, project.project));
  await eventually(
    'the console is built',
    async () => (await fetch(new URL('/console', installation.url))).status === 200,
    builtSecondsMax,
  );
  await using browser = await openBrowser(installation.url);
  const { page } = browser;
  await mkdir(folder, { recursive: true });
  await page.goto(`${installation.url}/console`);
  await page.getByLabel('Password').waitFor();
  await take(page, 'sign-in', ['light']);
  await signIn(page, email, password);
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  for (const picture of await pictures(person, project, failed)) {
    await page.goto(`${installation.url}/console${picture.path}`);
    await settled(page);
    await picture.first?.(page);
    await take(page, picture.name, picture.looks);
  }
}

const organizationOf = async (person: Person, project: string): Promise<string> =>
  (await send(person.url, await person.accessToken(), 'GET', `/projects/${project}`)).json.organization;

async function pictures(person: Person, { project }: Project, failed: string): Promise<Picture[]> {
  const organization = await organizationOf(person, project);
  const [tree, main] = [`/projects/${project}`, `/projects/${project}/environments/main`];
  const all = ['light', 'dark', 'phone'] as const;
  const openMerge = async (page: Page) => {
    await page.getByRole('button', { name: 'Merge', exact: true }).click();
    await page.getByRole('dialog').waitFor();
  };
  return [
    { name: 'tree', path: tree, looks: all, first: (page) => page.getByText(/ CPU$/).first().waitFor() },
    { name: 'environment', path: main, looks: all },
    { name: 'observability', path: `${main}/observability?last=1h`, looks: ['light', 'dark'] },
    { name: 'resources', path: `${main}/resources`, looks: ['light'] },
    { name: 'merge', path: `${tree}/environments/checkout`, looks: ['light', 'dark'], first: openMerge },
    { name: 'log', path: `${tree}/activities/${failed}`, looks: ['dark'], first: (page) => page.getByText(/^E: /).first().waitFor() },
    { name: 'access', path: `${tree}/access`, looks: ['light'] },
    { name: 'members', path: `/organizations/${organization}/members`, looks: ['light'] },
    { name: 'billing', path: `/organizations/${organization}/billing`, looks: ['light'] },
    { name: 'installation', path: '/installation', looks: ['light'] },
  ];
}

/** A shop with branches of branches, some of which are ahead of what they were taken from, and visitors. */
async function fill(person: Person): Promise<{ project: Project; failed: string }> {
  const project = await openProject(person);
  await project.copyFrom(join(repository, 'examples', 'guestbook'), 'A guestbook');
  await project.push('main');
  const address = await project.address('main');
  await sign(address, 'Ada', 'The first to be here');
  await sign(address, 'Grace', 'Found a moth in it');
  await project.act('/environments/main/branch', { name: 'staging', type: 'staging' });
  await project.act('/environments/staging/branch', { name: 'checkout' });
  await project.act('/environments/main/branch', { name: 'new-look' });
  await project.git('checkout', '--quiet', '-b', 'checkout');
  await project.write({ 'CHECKOUT.md': 'What visitors pay.\n' }, 'Tell visitors what they pay');
  await project.push('checkout');
  await project.git('checkout', '--quiet', '-b', 'new-look', 'main');
  const config = (await project.git('show', 'HEAD:.upsun/config.yaml')).replace('hooks:\n', 'hooks:\n      build: php -l web/dark.php\n');
  await project.write({ '.upsun/config.yaml': config, 'web/dark.php': '<?php echo "dark"\n$theme;\n' }, 'Prepare for the dark');
  await project.push('new-look').catch(() => undefined);
  const { id } = await project.lastActivity('new-look');
  for (let nth = 0; nth < visits; nth += 1) await visit(new URL(nth % 4 === 0 ? `/missing/${nth}` : '/', address).href);
  await project.act('/environments/main/backup', {});
  const from = Math.floor(Date.now() / 1000) - 3600;
  const counted = `/environments/main/observability/server/transactions-break-down?from=${from}&to=${from + 7200}`;
  await eventually('visits are counted', async () => (await project.api('GET', counted)).transactions.data.length > 0, recordedSecondsMax);
  return { project, failed: id };
}

async function sign(address: string, name: string, words: string) {
  const form = new FormData();
  form.set('name', name);
  form.set('words', words);
  const encoded = new Response(form);
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
  await visit(address, { method: 'POST', body: Buffer.from(await encoded.arrayBuffer()), headers });
}

async function settled(page: Page) {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.locator('.bones').first().waitFor({ state: 'detached' });
}

async function take(page: Page, name: string, wanted: readonly Look[]) {
  for (const look of wanted) {
    const { colorScheme, width, height } = looks[look];
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    const picture = await page.screenshot({ animations: 'disabled' });
    await writeFile(join(folder, `${name}-${look}.png`), await sharp(picture).png({ palette: true, colours: 128 }).toBuffer());
    console.log(`docs/screenshots/${name}-${look}.png`);
  }
  await page.setViewportSize({ width: looks.light.width, height: looks.light.height });
}

await main();
