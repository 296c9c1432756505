/** What people do on the pages of an environment that runs: see where the time goes, change sizes, go back to an earlier deployment, open a shell. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { auditPages } from './accessibility.ts';
import type { OpenBrowser } from './browser.ts';
import { eventually } from './eventually.ts';
import { repository } from './installation.ts';
import { openProject, successful, type Person, type Project } from './open-project.ts';
import { visit } from './visit.ts';

const [visitsHome, visitsElsewhere] = [12, 5];
/** Transactions are held back for a while, in case the app reports its own. */
const recordedSecondsMax = 60;

/** A project whose main branch was deployed twice and visited. */
export async function openVisitedProject(person: Person): Promise<Project> {
  const counter = await openProject(person);
  await counter.copyFrom(join(repository, 'examples', 'counter'), 'First');
  await counter.push('main');
  successful(await counter.lastActivity('main'));
  await counter.act('/environments/main/variables', { name: 'env:COLOR', value: 'red' });
  await counter.git('mv', 'ticker.js', 'worker.js');
  const config = (await counter.git('show', 'HEAD:.upsun/config.yaml')).replace('node ticker.js', 'node worker.js');
  await counter.write({ '.upsun/config.yaml': config }, 'Give the worker a better name');
  await counter.push('main');
  successful(await counter.lastActivity('main'));
  const address = await counter.address('main');
  for (let nth = 0; nth < visitsHome; nth += 1) await visit(address);
  for (let nth = 0; nth < visitsElsewhere; nth += 1) await visit(`${address}pages/${nth}`);
  return counter;
}

export async function useEnvironmentPages({ page, mistakes }: Pick<OpenBrowser, 'page' | 'mistakes'>, url: string, project: Project) {
  const at = `${url}/console/projects/${project.project}/environments/main`;
  await seeWhereTheTimeGoes(page, at, project);
  await changeSizes(page, at, project);
  // The browser itself notes the one change that was refused; nothing else went wrong until here.
  expect(mistakes.splice(0)).toEqual([expect.stringContaining('the server responded with a status of 400')]);
  await rollBack(page, at, project);
  await openShell(page, at);
  const paths = ['/observability', '/observability?view=http', '/observability?view=resources', '/resources', ''];
  const wrong = await auditPages(
    page,
    paths.map((path) => `${at}${path}`),
  );
  expect(wrong).toEqual([]);
}

/** The breakdown counts every visit; filters and what is zoomed into are in the address, and the back button leads back. */
async function seeWhereTheTimeGoes(page: Page, at: string, { api }: Project) {
  const from = Math.floor(Date.now() / 1000) - 3600;
  const isCounted = async () => {
    const path = `/environments/main/observability/server/transactions-break-down?from=${from}&to=${from + 7200}`;
    const { transactions } = await api('GET', path);
    return (
      transactions.data.reduce((sum: number, row: { total_requests: number }) => sum + row.total_requests, 0) ===
      visitsHome + visitsElsewhere
    );
  };
  await eventually('every visit is counted', isCounted, recordedSecondsMax);

  await page.goto(`${at}/observability?last=1h`);
  const table = page.getByRole('group', { name: 'Transactions' });
  await table.getByRole('row', { name: new RegExp(`/pages/\\{id\\}.* ${visitsElsewhere} `) }).waitFor();
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  await table.getByRole('columnheader', { name: 'Requests' }).and(page.locator('[aria-sort=descending]')).waitFor();
  expect(new URL(page.url()).searchParams.get('sort')).toBe('total_requests');

  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByLabel('What', { exact: true }).selectOption('Status code');
  await page.getByLabel('Value').fill('4xx');
  await page.getByRole('button', { name: 'Add the filter' }).click();
  await table.getByRole('link', { name: '/', exact: true }).waitFor({ state: 'detached' });
  expect(JSON.parse(new URL(page.url()).searchParams.get('http_status_codes') ?? '')).toEqual(['4xx']);
  await page.reload();
  await table.getByRole('link', { name: '/pages/{id}' }).waitFor();
  await page.getByRole('link', { name: 'Remove the filter Status code 4xx' }).click();
  await table.getByRole('link', { name: '/', exact: true }).waitFor();

  // Every point can be read with the arrow keys, and a part of the time be looked at more closely.
  const chart = page.getByRole('slider', { name: 'Where the time goes' });
  await chart.press('End');
  const last = await chart.getAttribute('aria-valuetext');
  await chart.press('ArrowLeft');
  expect(await chart.getAttribute('aria-valuetext')).not.toBe(last);
  // The visits were just now: all but the first point.
  await chart.press('Home');
  await chart.press('ArrowRight');
  await chart.press('Shift+End');
  const [drawn, selected] = [await chart.locator('.u-over').boundingBox(), await chart.locator('.u-select').boundingBox()];
  expect((selected?.x ?? 0) + (selected?.width ?? 0)).toBeCloseTo((drawn?.x ?? 0) + (drawn?.width ?? 0), -1);
  const points = await chart.getAttribute('aria-valuemax');
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.waitForURL(/from=\d+&to=\d+/);
  await eventually('the part is drawn', async () => (await chart.getAttribute('aria-valuemax')) !== points, 30);
  await dragOver(page, chart);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  const zoomed = page.url();
  await page.goBack();
  await eventually('the back button leads to the time before', () => page.url() !== zoomed, 10);
  await page.setViewportSize({ width: 390, height: 844 });
  await chart.locator('canvas').waitFor();
  await chart.scrollIntoViewIfNeeded();
  await touchOver(page, chart);
  await page.getByRole('button', { name: 'Zoom in' }).waitFor();
  await page.setViewportSize({ width: 1280, height: 720 });

  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV of the transactions' }).click();
  expect((await saving).suggestedFilename()).toBe('main-transactions.csv');

  await page.getByRole('link', { name: 'HTTP traffic' }).click();
  await page.getByRole('slider', { name: 'Requests' }).waitFor();
  await page.getByRole('link', { name: 'Resources', exact: true }).last().click();
  await page.getByRole('slider', { name: 'CPU pressure' }).waitFor();
}

async function dragOver(page: Page, chart: ReturnType<Page['getByRole']>) {
  await chart.locator('canvas').waitFor();
  const box = await chart.locator('.u-over').boundingBox();
  if (!box) throw new Error('The chart is not drawn.');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 4, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, y, { steps: 5 });
  await page.mouse.up();
}

/** A finger that goes sideways. */
async function touchOver(page: Page, chart: ReturnType<Page['getByRole']>) {
  const box = await chart.locator('.u-over').boundingBox();
  if (!box) throw new Error('The chart is not drawn.');
  const at = (share: number) => [{ x: Math.round(box.x + box.width * share), y: Math.round(box.y + box.height / 2) }];
  const client = await page.context().newCDPSession(page);
  await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0.25) });
  for (const share of [0.35, 0.5, 0.7, 0.8]) await client.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(share) });
  await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await client.detach();
}

/** What a change does is told before it is made; what cannot be is refused beside its field, in the API's words. */
async function changeSizes(page: Page, at: string, { api, lastActivity }: Project) {
  await page.goto(`${at}/resources`);
  const disk = page.getByLabel('Disk of store in MB');
  await disk.fill('1');
  await page.getByText('It must be at least').waitFor();
  await disk.fill('1024');
  await page.getByLabel('Instances of counter', { exact: true }).fill('2');
  const effect = page.getByRole('region', { name: 'What this does' });
  await effect.getByText('counter gets one instance more').waitFor();
  await effect.getByText('the disk of store grows to 1024 MB').waitFor();
  expect((await api('GET', '/environments/main/deployments/next')).webapps.counter.instance_count).toBe(1);
  await page.getByRole('button', { name: 'Apply the change' }).click();
  await page.getByRole('heading', { name: 'Deployments' }).waitFor();
  successful(await lastActivity('main'));
  expect((await api('GET', '/environments/main/deployments/current')).webapps.counter.instance_count).toBe(2);

  await page.goto(`${at}/resources`);
  await page.getByRole('button', { name: 'Change the autoscaling of counter', exact: true }).click();
  await page.getByRole('checkbox', { name: /^CPU how much/ }).check();
  await page.getByLabel('CPU above, in %').fill('70');
  await page.getByText('One more with CPU above 70 % for 5 minutes').waitFor();
  await page.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('as the load asks for').waitFor();
  const { services } = await api('GET', '/environments/main/autoscaling/settings');
  expect(services.counter).toMatchObject({ enabled: true, triggers: { cpu: { enabled: true, up: { threshold: 70 } } } });
}

/** What differs is shown beside the confirmation. */
async function rollBack(page: Page, at: string, { api, lastActivity }: Project) {
  await page.goto(at);
  const row = page.getByRole('row', { name: /pushed to/ }).last();
  await row.getByRole('button', { name: 'Roll back' }).click();
  const dialog = page.getByRole('dialog', { name: /Roll back to deployment/ });
  await dialog.getByText('Give the worker a better name').waitFor();
  await dialog.getByRole('row', { name: /worker\.commands\.start.*ticker\.js.*worker\.js/ }).waitFor();
  await dialog.getByText('env:COLOR').waitFor();
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(successful(await lastActivity('main')).log).toContain('Rolling back to deployment 1');
  const { workers } = await api('GET', '/environments/main/deployments/current');
  expect(workers['counter--ticker'].worker.commands.start).toBe('node ticker.js');
}

/** Colours and all, without breaking the policy of the page: that would be among the mistakes of the browser. */
async function openShell(page: Page, at: string) {
  await page.goto(`${at}/terminal?in=counter--0`);
  const screen = page.getByRole('group', { name: /^Terminal in/ });
  await screen.locator('textarea').press('Enter');
  await page.keyboard.type("printf '\\033[31m%s\\033[0m\\n' $((20 + 22))red; exit 3\n");
  await screen.getByText('42red').first().waitFor();
  await page.getByText('The shell ended with 3.').waitFor();
}
