import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withFileLock } from '../../drivers/file-lock.ts';
import { createFolders } from '../../drivers/images/layer-cache.ts';
import { aheadFinding } from './images-ahead.ts';

let images: string;
beforeEach(() => {
  images = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  createFolders(images);
});
afterEach(() => rmSync(images, { recursive: true, force: true }));

const write = (state: unknown) => writeFileSync(join(images, 'ahead.json'), JSON.stringify(state));
const find = (imagesAhead = ['php:8.4', 'static:1']) => aheadFinding({ images, imagesAhead });
const brought = { 'php:8.4': '2026-11-16T12:00:00.000Z' };

test('the doctor tells what was brought ahead, what is being brought, and what is in the way', async () => {
  expect(await find([])).toEqual({ ok: true, found: 'none are wanted' });
  expect(await find()).toEqual({ ok: true, found: '0 of 2 were brought; a running platform brings php:8.4, static:1' });
  write({ brought, bringing: { type: 'static:1', percent: 43 } });
  // Whoever wrote it was killed.
  expect(await find()).toEqual({ ok: true, found: '1 of 2 were brought; a running platform brings static:1' });
  await withFileLock(join(images, 'locks', 'ahead'), new AbortController().signal, async () =>
    expect(await find()).toEqual({ ok: true, found: '1 of 2 were brought; static:1 is at 43 %' }),
  );
  write({ brought, problem: 'The disk is full.\nReally.' });
  expect(await find()).toEqual({ ok: false, found: '1 of 2 were brought; The disk is full.' });
  expect(await find(['php:8.4'])).toEqual({ ok: true, found: '1 of 1 were brought' });
});
