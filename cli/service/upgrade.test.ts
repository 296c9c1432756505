import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { upgradesFolder } from './kept-state.ts';
import { currentVersion, programFolder } from './service-paths.ts';
import { openTestMachine, type TestMachine } from './test-machine.ts';
import { takeBackUpgrade, upgrade } from './upgrade.ts';

let machine: TestMachine;
beforeEach(async () => {
  machine = await openTestMachine();
  await machine.installed('1.0.0');
});
afterEach(() => machine[Symbol.asyncDispose]());

const newer = { 'server/migrations/9000_newer.sql': 'create table of_a_newer_version (id integer);' };
/** What was there goes, and things come that an earlier version knows nothing of. */
const worseMigration = 'server/migrations/9000_worse.sql';
const worse = {
  [worseMigration]: "drop table organizations cascade; create type mood as enum ('bad'); create function f() returns int return 1;",
  broken: 'This version is broken.',
};

const people = async () => (await machine.pool.query('select email from users order by email')).rows;
const lastMigration = async () => (await machine.pool.query('select max(name) as name from migrations')).rows[0].name as string;
const version = () => currentVersion(machine.paths)?.split('-')[0];
const under = (name: string) => readdirSync(join(machine.paths.programs)).filter((entry) => entry.startsWith(name));

test('another version takes the place of the one that is installed; what was before is kept', async () => {
  const before = await people();
  await upgrade(machine.service, await machine.program('2.0.0', newer));
  expect([version(), machine.runs(), await lastMigration(), await people()]).toEqual(['2.0.0', true, '9000_newer.sql', before]);
  const kept = machine.said.find((line) => line.includes(upgradesFolder({ data: machine.paths.data })))?.match(/in (\/.*)\.$/)?.[1] ?? '';
  expect(readdirSync(kept).toSorted()).toEqual(['database', 'offshoot-environments.service', 'offshoot.env', 'offshoot.service']);
  await upgrade(machine.service, await machine.program('2.0.0', newer));
  expect(machine.said.at(-1)).toContain('is the version that is installed');
});

test('a version that does not work is taken back by itself, with the database that it has changed', async () => {
  const [before, migration] = [await people(), await lastMigration()];
  const attempt = upgrade(machine.service, await machine.program('2.0.0', worse));
  await expect(attempt).rejects.toThrow(/2\.0\.0\S* does not work here, so 1\.0\.0\S* runs as before/);
  expect([version(), machine.runs(), await lastMigration(), await people()]).toEqual(['1.0.0', true, migration, before]);
  expect(machine.said.join('\n')).toContain('This version is broken.');
  expect([under('upgrade.json'), under('2.0.0')]).toEqual([[], []]);

  // Nothing of it is in the way of the version that repairs it.
  await upgrade(machine.service, await machine.program('2.0.1', { [worseMigration]: worse[worseMigration] }));
  expect([version(), machine.runs()]).toEqual(['2.0.1', true]);
});

test('a version that does not know the database is refused before anything is done', async () => {
  await upgrade(machine.service, await machine.program('2.0.0', newer));
  machine.calls.length = 0;
  await expect(upgrade(machine.service, await machine.program('3.0.0'))).rejects.toThrow(
    /migrated by a newer Offshoot \(9000_newer\.sql\)/,
  );
  expect([machine.calls, version(), machine.runs()]).toEqual([[], '2.0.0', true]);
});

test('the way back loses nothing where the database is the same, and asks where it is not', async () => {
  await upgrade(machine.service, await machine.program('2.0.0'));
  await takeBackUpgrade(machine.service, false);
  expect(version()).toBe('1.0.0');

  const migration = await lastMigration();
  await upgrade(machine.service, await machine.program('3.0.0', newer));
  await machine.pool.query(`update users set email = 'late@example.org'`);
  await expect(takeBackUpgrade(machine.service, false)).rejects.toThrow(/what people did since then is lost. Add --yes/);
  expect(version()).toBe('3.0.0');
  await takeBackUpgrade(machine.service, true);
  expect([version(), await lastMigration(), machine.runs()]).toEqual(['1.0.0', migration, true]);
  expect(await people()).not.toContainEqual({ email: 'late@example.org' });
});

/** Of stop, reload and start: the platform stopped, units not read, not started, and started without anybody who waited for it. */
const kills = [
  [1, 'after'],
  [2, 'before'],
  [3, 'before'],
  [3, 'after'],
] as const;

test.each(kills)(
  'an upgrade that is killed at its step %i, %s it, is finished by the next run, and nothing is lost',
  async (call, when) => {
    const [before, source] = [await people(), await machine.program('2.0.0', newer)];
    machine.killAt(call, when);
    await expect(upgrade(machine.service, source)).rejects.toThrow('killed');
    machine.revive();
    await upgrade(machine.service, source);
    expect([version(), machine.runs(), await lastMigration(), await people()]).toEqual(['2.0.0', true, '9000_newer.sql', before]);
    expect(under('upgrade.json')).toEqual([]);
  },
);

test('a killed upgrade whose version has worked since is not taken back unasked', async () => {
  const source = await machine.program('2.0.0', newer);
  machine.killAt(3, 'after');
  await expect(upgrade(machine.service, source)).rejects.toThrow('killed');
  machine.revive();
  await machine.service.manager.stop('offshoot.service');
  await expect(upgrade(machine.service, source)).rejects.toThrow(/2\.0\.0\S* has worked since, and does not now/);
  await takeBackUpgrade(machine.service, true);
  expect([version(), machine.runs()]).toEqual(['1.0.0', true]);
});

test('settings that were changed by hand stay, and units are those of the version that runs', async () => {
  const { paths } = machine;
  const [settings, unit] = [`${readFileSync(paths.settings, 'utf8')}OFFSHOOT_LOG_LEVEL=warn\n`, join(paths.units, 'offshoot.service')];
  await writeFile(paths.settings, settings);
  await writeFile(unit, '# of an older version');
  await upgrade(machine.service, await machine.program('2.0.0'));
  expect([readFileSync(paths.settings, 'utf8'), readFileSync(unit, 'utf8')]).toEqual([settings, expect.stringContaining('Type=notify')]);
  await takeBackUpgrade(machine.service, false);
  expect(readFileSync(unit, 'utf8')).toBe('# of an older version');
  await rm(programFolder(paths, under('2.0.0')[0] ?? ''), { recursive: true });
  await expect(takeBackUpgrade(machine.service, false)).rejects.toThrow('There is no upgrade to take back.');
  expect(existsSync(paths.settings)).toBe(true);
});
