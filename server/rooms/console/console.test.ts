import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openTestPlatform } from '../../testing/platform.ts';
import { readAssets } from './assets.ts';
import { hashOfSources } from './sources.ts';

const { send } = await openTestPlatform();
const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-console-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the address of the platform', () => {
  test('leads a browser to the console, and says to programs what it always said', async () => {
    const browser = await send({ url: '/', headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect({ status: browser.status, location: browser.headers['location'] }).toEqual({ status: 302, location: '/console' });
    for (const accept of ['*/*', 'application/json'])
      expect(await send({ url: '/', headers: { accept } })).toMatchObject({ status: 404, json: { message: 'There is nothing at GET /.' } });
  });
});

describe('a built console', () => {
  test('is held in memory with its compressed forms, and its page knows the address of the platform', () => {
    mkdirSync(join(folder, 'assets'));
    for (const ending of ['', '.br', '.gz']) writeFileSync(join(folder, 'assets', `main-abc.js${ending}`), `content${ending}`);
    writeFileSync(join(folder, 'index.html'), '<meta content="%OFFSHOOT_URL%">');
    const { page, files } = readAssets(folder, 'https://paas.example/"><script>');
    expect(page).toBe('<meta content="https://paas.example/&quot;&gt;&lt;script&gt;">');
    expect([...files.keys()]).toEqual(['main-abc.js']);
    expect(files.get('main-abc.js')?.bytes.br.toString()).toBe('content.br');
  });

  test('is named by its sources: the same sources have the same name', () => {
    expect(hashOfSources()).toMatch(/^[0-9a-f]{32}$/);
    expect(hashOfSources()).toBe(hashOfSources());
  });
});
