import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOutbox } from './outbox.ts';

test('the newest files stay, and other files are left alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-outbox-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const outbox = openOutbox(folder, 'txt', 3);
  await openOutbox(folder, 'eml', 3).put('another kind');
  for (const text of ['1', '2', '3', '4', '5']) {
    await outbox.put(text);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).sort();
  expect(await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).toEqual(['3', '4', '5']);
  expect(await readdir(folder)).toHaveLength(4);
});

test('many at once all get through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-outbox-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const outbox = openOutbox(join(folder, 'new'), 'txt', 10);
  await Promise.all(Array.from({ length: 30 }, (_, index) => outbox.put(String(index))));
  expect((await readdir(join(folder, 'new'))).length).toBe(10);
});
