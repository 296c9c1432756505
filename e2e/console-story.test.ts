/** The first hour of somebody new, who has read nothing: what the pages show is followed as it stands there. */
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { looksAfterBranch } from './branch-in-the-console.ts';
import { openBrowser } from './browser.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainEnvironment, repository } from './installation.ts';
import { runProgram } from './program.ts';

const storyMilliseconds = 540_000;
const builtSecondsMax = 120;
const pushSecondsMax = 300;
const liveMilliseconds = pushSecondsMax * 1000;

/** What a step of the page says to type. */
const commandsOf = async (page: Page, step: string) =>
  (await page
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name: step }) })
    .locator('pre')
    .textContent()) ?? '';

test(
  'somebody new signs in, makes a token and a project, pushes an example, branches it with its data, backs that up, restores and synchronizes it, breaks what runs, finds out why, and goes back',
  { timeout: storyMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const { url } = installation;
    const { email, password } = await (await installation.start()).credentials();
    await eventually('the console is built', async () => (await fetch(new URL('/console', url))).status === 200, builtSecondsMax);
    await using browser = await openBrowser(url);
    await using newcomer = await makeHome();
    const { page, mistakes } = browser;
    const dialog = page.getByRole('dialog');
    // Wide enough for every column of the tree.
    await page.setViewportSize({ width: 1500, height: 900 });

    await page.goto(url);
    await signIn(page, email, password);
    await page.getByLabel('Your account', { exact: true }).click();
    await page.getByRole('link', { name: 'API tokens' }).click();
    await page.getByRole('button', { name: 'New API token' }).first().click();
    await page.getByLabel('Name').fill('My laptop');
    await page.getByRole('button', { name: 'Create the token' }).click();
    const secret = await page.getByRole('region', { name: 'Your new API token' }).locator('[data-token]').innerText();

    await page.goto(`${url}/console/create-project`);
    await page.getByLabel('Name').fill('Acme');
    await page.getByRole('button', { name: 'Create the organization' }).click();
    await page.getByLabel('Title').fill('Guests');
    await page.getByRole('button', { name: 'Create the project' }).click();
    await page.getByRole('heading', { name: 'Waiting for the first push' }).waitFor();
    const home = page.url();

    const steps = ['Have Git trust this platform', 'Take an example', 'Push'];
    const commands = await Promise.all(steps.map((step) => commandsOf(page, step)));
    const pushed = newcomer.run(commands.join('\n'), { API_TOKEN: secret });
    await page.getByRole('heading', { name: 'Your push has arrived' }).waitFor({ timeout: liveMilliseconds });
    await page.getByRole('heading', { name: 'It is live' }).waitFor({ timeout: liveMilliseconds });
    expect(await pushed).toMatchObject({ code: 0 });

    await page.getByRole('link', { name: 'Open it' }).click();
    await page.getByRole('heading', { name: 'Guestbook of main' }).waitFor();
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('Words').fill('The first to be here');
    await page.getByRole('button', { name: 'Sign' }).click();
    await page.getByText('The first to be here').waitFor();

    // A branch has the data of what it was taken from, and the tree says so.
    await page.goto(`${home}/environments/main`);
    await page.getByRole('button', { name: 'Branch', exact: true }).click();
    await dialog.getByRole('textbox', { name: /^Name/ }).fill('trial');
    await dialog.getByRole('button', { name: 'Branch', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'trial' }).waitFor();
    await page.locator('.env-name').getByText('Active', { exact: true }).waitFor({ timeout: liveMilliseconds });
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await page.getByRole('heading', { name: 'Guestbook of trial' }).waitFor();
    await page.getByText('The first to be here').waitFor();
    await page.goto(home);
    const row = page.locator('[data-environment="trial"]');
    await row.getByText(/^from main/).waitFor();
    await row.getByRole('img', { name: 'works on it' }).waitFor();
    const token = await accessToken(url, secret);
    const treeAddress = `/projects/${home.split('/').at(-1)}/tree`;
    await eventually(
      'what the environments hold and use was looked at',
      async () => {
        const tree = (await send(url, token, 'GET', treeAddress)).json as {
          data: { own_bytes: number | null };
          uses: { memory_bytes: number | null };
        }[];
        return tree.every(({ data, uses }) => data.own_bytes !== null && (uses.memory_bytes ?? 0) > 0);
      },
      120,
    );
    await page.reload();
    await row.getByText(/ own of /).waitFor();
    await row.getByText(/ CPU$/).waitFor();

    await looksAfterBranch(page, home);

    // Something better is pushed, and then something that does not even build: what ran goes on, and the page says why.
    const config = join(newcomer.folder, 'guestbook/.upsun/config.yaml');
    await appendFile(join(newcomer.folder, 'guestbook/web/index.php'), '<p>Now with a footer</p>\n');
    expect(await newcomer.run(push('A footer'))).toMatchObject({ code: 0 });
    const working = await readFile(config, 'utf8');
    await writeFile(config, working.replace('    hooks:\n', "    hooks:\n      build: echo 'there is no flour' && exit 3\n"));
    await newcomer.run(push('Cake'));
    await page.goto(`${home}/environments/main`);
    await page.getByText('The last deployment failed').waitFor();
    await page.getByText('what ran before still runs').waitFor();
    await page.getByRole('link', { name: 'Show where it failed in the log' }).click();
    await page.locator('li.shown').getByText(/^E: /).waitFor();
    await page.getByText('there is no flour').first().waitFor();

    await page.goto(`${home}/environments/main`);
    await page.getByRole('region', { name: 'Deployments' }).getByRole('button', { name: 'Roll back' }).first().click();
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await page.getByText('The last deployment failed').waitFor({ state: 'detached', timeout: liveMilliseconds });
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await page.getByText('The first to be here').waitFor();
    expect(await page.getByText('Now with a footer').count()).toBe(0);
    expect(mistakes).toEqual([]);
  },
);

const push = (message: string) =>
  `cd ~/guestbook && git add . && git -c user.name=Me -c user.email=me@example.org commit -qm '${message}' && git push -q offshoot main`;

/** A home folder of their own, from which they go to the folder of the platform, as the page says. */
async function makeHome() {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-newcomer-'));
  const env = { ...plainEnvironment(), HOME: folder, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' };
  return {
    folder,
    run: (script: string, more: Record<string, string> = {}) =>
      runProgram('sh', ['-ec', script], { env: { ...env, ...more }, folder: repository, secondsMax: pushSecondsMax }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
