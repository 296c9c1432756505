/**
 * How quick the console is in a browser: the script of the first view and when it can be used on a processor four times slower, frames while a hundred
 * thousand lines of a log and a tree of five hundred environments are scrolled, from a trace, and what an open console asks for at rest.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { signIn } from '../e2e/at-the-keyboard.ts';
import { openBrowser } from '../e2e/browser.ts';
import { eventually } from '../e2e/eventually.ts';
import { large, openLargeProject } from './harness/large-project.ts';
import { note, printTable } from './harness/verdicts.ts';

const targets = { scriptBytes: 200_000, interactiveSeconds: 1.5, framesPerSecond: 60, requestsPerSecond: 1 };
const slowdown = 4;
const scrollSeconds = 4;
/** More than ten screens a second, as somebody scrolls who looks for something. */
const scrollPixelsPerSecond = 10_000;
const restSeconds = 30;
/** A frame more or less is a matter of when the trace began. */
const framesToleratedShare = 0.03;

const { url, email, password, project, activity, close } = await openLargeProject();
await eventually('the console is built', async () => (await fetch(`${url}/console`)).status === 200, 120);
await using browser = await openBrowser(url);
const { page } = browser;
await page.setViewportSize({ width: 1400, height: 900 });
await page.goto(url);
await signIn(page, email, password);
await page.getByRole('link', { name: 'Large' }).waitFor();

await measureFirstView();
await measureFrames(`a log of ${large.lines} lines`, `/console/projects/${project}/activities/${activity}`, '.log-lines', async () => {
  await page.getByText('Step 0').waitFor();
  await eventually('the whole log is there', async () => (await heightOf('.log-lines')) > large.lines * 15, 60);
});
await measureFrames(`a tree of ${large.environments} environments`, `/console/projects/${project}`, 'html', async () => {
  await page.getByRole('link', { name: 'feature-498' }).waitFor();
});
await measureRest();
await close();
printTable();

async function measureFirstView() {
  const scripts = new Set<string>();
  page.on('request', (request) => request.resourceType() === 'script' && scripts.add(request.url()));
  const client = await page.context().newCDPSession(page);
  await client.send('Network.setCacheDisabled', { cacheDisabled: true });
  await client.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  await page.addInitScript(`window.longTasks = []; new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.longTasks.push(startTime + duration);
  }).observe({ type: 'longtask', buffered: true });`);
  await page.goto(`${url}/console`, { waitUntil: 'commit' });
  await page.getByRole('link', { name: 'Large' }).waitFor();
  const shown = await page.evaluate<number>('performance.now()');
  await sleep(2000);
  const busyUntil = await page.evaluate<number>('Math.max(0, ...window.longTasks)');
  await client.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  await client.send('Network.setCacheDisabled', { cacheDisabled: false });
  await client.detach();
  const seconds = Math.max(shown, busyUntil) / 1000;
  const bytes = await gzipBytesOf([...scripts]);
  note({
    what: 'script of the first view, gzip',
    measured: `${Math.round(bytes / 1000)} kB in ${scripts.size} files`,
    target: `< ${targets.scriptBytes / 1000} kB`,
    isMet: bytes < targets.scriptBytes,
  });
  note({
    what: `first view until it can be used, on a processor ${slowdown} times slower`,
    measured: `${seconds.toFixed(2)} s`,
    target: `< ${targets.interactiveSeconds} s`,
    isMet: seconds < targets.interactiveSeconds,
  });
}

async function gzipBytesOf(scripts: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    scripts.map(async (script) => Number((await fetch(script, { headers: { 'accept-encoding': 'gzip' } })).headers.get('content-length'))),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function heightOf(selector: string) {
  return page.evaluate<number>(`document.querySelector('${selector}')?.scrollHeight ?? 0`);
}

/** Scrolls from the beginning to the end and counts the frames that were drawn, as the browser's own trace has them. */
async function measureFrames(what: string, path: string, selector: string, untilThere: () => Promise<void>) {
  await page.goto(`${url}${path}`);
  await untilThere();
  await sleep(1000);
  const chromium = page.context().browser() as Browser;
  await chromium.startTracing(page, { categories: ['disabled-by-default-devtools.timeline.frame', 'devtools.timeline.frame'] });
  const milliseconds = await scroll(page, selector);
  const { traceEvents } = JSON.parse((await chromium.stopTracing()).toString()) as { traceEvents: { name: string }[] };
  const drawn = traceEvents.filter(({ name }) => name === 'DrawFrame').length;
  const perSecond = drawn / (milliseconds / 1000);
  note({
    what: `${what}, frames a second while it is scrolled`,
    measured: perSecond.toFixed(1),
    target: String(targets.framesPerSecond),
    isMet: perSecond > targets.framesPerSecond * (1 - framesToleratedShare),
  });
}

function scroll(on: Page, selector: string) {
  return on.evaluate<number>(`new Promise((settle) => {
    const element = document.querySelector('${selector}');
    const [start, distance] = [performance.now(), element.scrollHeight - element.clientHeight];
    const move = () => {
      const passed = performance.now() - start;
      element.scrollTop = (${scrollPixelsPerSecond / 1000} * passed) % distance;
      if (passed < ${scrollSeconds * 1000}) requestAnimationFrame(move); else settle(passed);
    };
    requestAnimationFrame(move);
  })`);
}

async function measureRest() {
  await sleep(5000);
  let requests = 0;
  const count = () => (requests += 1);
  page.on('request', count);
  await sleep(restSeconds * 1000);
  page.off('request', count);
  const perSecond = requests / restSeconds;
  note({
    what: 'requests a second of an open console at rest',
    measured: perSecond.toFixed(2),
    target: `< ${targets.requestsPerSecond}`,
    isMet: perSecond < targets.requestsPerSecond,
  });
}
