import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { doors, doorsOf, fastTests, refusingPrograms } from '../fast-tests.ts';
import { secondsOf } from '../slow-tests.ts';

const root = resolve(import.meta.dirname, '..');

test('the doors that keep a test out of the fast loop are where they are looked for', () => {
  expect(Object.keys(doors).filter((door) => !existsSync(join(root, door)))).toEqual([]);
});

test('tests that open a door, themselves or by what they share, are not fast; all others are', () => {
  const all = globSync('{cli,edge,server,e2e}/**/*.test.ts', { cwd: root });
  const fast = fastTests();
  expect(fast).toContain('cli/fast-loop.test.ts');
  expect(fast.length).toBeGreaterThan(50);
  expect(all.filter((file) => !fast.includes(file)).length).toBeGreaterThan(50);
  const ofRuntime = all.filter((file) => file.startsWith('server/drivers/runtime/'));
  expect(ofRuntime.length).toBeGreaterThan(0);
  expect([...new Set(ofRuntime.flatMap(doorsOf))]).toEqual(['server/drivers/runtime/']);
  expect(all.filter((file) => file.startsWith('e2e/')).filter((file) => fast.includes(file))).toEqual([]);
});

test('the programs behind the doors refuse to run in the loop, in words', () => {
  const env = { PATH: `${refusingPrograms()}:${process.env['PATH'] ?? ''}` };
  expect(() => execFileSync('runc', ['--version'], { env, stdio: 'pipe' })).toThrow('runc is not run in the fast loop');
});

test('the files that are begun first in a whole run are there', () => {
  expect(Object.keys(secondsOf).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
