import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder } from './data-folder.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** A program that keeps no reference to the folder, and collects garbage: the lock must hold all the same. */
const openAndStay = `
  import { openDataFolder } from ${JSON.stringify(new URL('data-folder.ts', import.meta.url).href)};
  openDataFolder(process.argv[1]);
  for (let n = 0; n < 3; n += 1) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  console.log('open');
  setInterval(() => {}, 1000);
`;

test('a second instance is refused with a sentence, and let in once the first is killed', async () => {
  const folder = join(parent, 'data');
  const first = spawn(process.execPath, ['--expose-gc', '--input-type=module', '--eval', openAndStay, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(first.stdout, 'data');
  expect(() => openDataFolder(folder)).toThrow(
    `Another Offshoot is already running on ${folder}; stop it first, or set OFFSHOOT_DATA to another folder.`,
  );

  const exit = once(first, 'exit');
  first.kill('SIGKILL');
  await exit;
  const second = openDataFolder(folder);
  expect(() => openDataFolder(folder)).toThrow('Another Offshoot');
  second.close();
  openDataFolder(folder).close();
});

test('the key is made once, for our eyes only, and further lines are older keys', () => {
  const folder = openDataFolder(join(parent, 'data'));
  const [key] = folder.secretKeys();
  expect(key).toHaveLength(32);
  expect(folder.secretKeys()).toEqual([key]);
  const file = join(folder.path, 'secret-key');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder.path, 'instance.lock')).mode & 0o777).toBe(0o600);

  const newer = Buffer.alloc(32, 7);
  writeFileSync(file, `${newer.toString('base64')}\n${key!.toString('base64')}\n`);
  expect(folder.secretKeys()).toEqual([newer, key]);
  folder.close();
});

test.each(['', 'short\n', `${'!'.repeat(44)}\n`])('a damaged key file stops the start rather than being replaced: %j', (content) => {
  const folder = openDataFolder(join(parent, 'data'));
  writeFileSync(join(folder.path, 'secret-key'), content);
  expect(() => folder.secretKeys()).toThrow('restore it from a backup');
  folder.close();
});

test('a data folder that is a file is refused with a sentence', () => {
  writeFileSync(join(parent, 'data'), '');
  expect(() => openDataFolder(join(parent, 'data'))).toThrow(/cannot be used .* set OFFSHOOT_DATA/);
});
