/** A browser with one page, which notes everything that goes wrong on the pages of a platform; what breaks a page's policy counts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { trustInBrowser } from './trust.ts';

const executablePath = join(import.meta.dirname, 'browser-undisturbed.pl');
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];
const stepSecondsMax = 90;

export interface OpenBrowser extends AsyncDisposable {
  readonly page: Page;
  /** On pages of the platform only; that a page itself is answered with 4xx is none. */
  readonly mistakes: string[];
  /** Another page, without the cookies of the first and without JavaScript. */
  pageWithoutJavaScript(): Promise<Page>;
}

/** With a proxy, it finds every page through that. */
export async function openBrowser(url: string, proxyUrl?: string): Promise<OpenBrowser> {
  const home = await mkdtemp(join(tmpdir(), 'offshoot-e2e-browser-'));
  trustInBrowser(home);
  const env = { ...process.env, HOME: home };
  const browser: Browser = await chromium.launch({
    executablePath,
    args,
    env,
    timeout: stepSecondsMax * 1000,
    ...(proxyUrl !== undefined && { proxy: { server: proxyUrl } }),
  });
  const mistakes: string[] = [];
  const openPage = async (javaScriptEnabled: boolean) => {
    const context = await browser.newContext({ javaScriptEnabled });
    context.setDefaultTimeout(stepSecondsMax * 1000);
    const page = await context.newPage();
    const note = (mistake: string) => {
      if (page.url().startsWith(url)) mistakes.push(`${page.url()}: ${mistake}`);
    };
    page.on('console', (message) => {
      const isAnswer = message.text().startsWith('Failed to load resource') && message.location().url === page.url();
      if (['error', 'warning'].includes(message.type()) && !isAnswer) note(message.text());
    });
    page.on('pageerror', (error) => note(error.message));
    return page;
  };
  return {
    page: await openPage(true),
    mistakes,
    pageWithoutJavaScript: () => openPage(false),
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
