import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder } from '../../server/data-folder.ts';
import { install, settingsToBe } from './install.ts';
import { currentLink, currentVersion } from './service-paths.ts';
import { neededModules } from './program.ts';
import { readSettings } from './settings-file.ts';
import { openTestMachine, type TestMachine } from './test-machine.ts';
import { uninstall } from './uninstall.ts';

let machine: TestMachine;
beforeEach(async () => void (machine = await openTestMachine()));
afterEach(() => machine[Symbol.asyncDispose]());

const keepData = { withData: false, isSure: false };

test('the program, its settings, its units and the command are there, and the platform runs', async () => {
  const { paths, env, service } = machine;
  const password = 'of-the-first-start';
  await install(service, await machine.program('1.0.0'), { ...env, OFFSHOOT_ADMIN_PASSWORD: password, PATH: '/bin' });
  const program = currentLink(paths);
  expect(currentVersion(paths)).toMatch(/^1\.0\.0-[0-9a-f]{12}$/);
  expect(readdirSync(join(program, 'node_modules'))).toEqual(['needed']);
  expect([existsSync(join(program, 'data')), readlinkSync(join(program, 'settings.env'))]).toEqual([false, paths.settings]);
  expect(readSettings(paths.settings)).toEqual({ OFFSHOOT_DATA: paths.data, ...env });
  expect([statSync(paths.settings).mode & 0o777, readFileSync(paths.settings, 'utf8').includes(password)]).toEqual([0o600, false]);
  expect(readFileSync(join(paths.units, 'offshoot.service'), 'utf8')).toContain(`ExecStart="${program}/offshoot" start`);
  expect([readlinkSync(paths.command), [...machine.enabled], machine.runs()]).toEqual([`${program}/offshoot`, ['offshoot.service'], true]);
  expect(machine.said.join('\n')).toMatch(/e-mail +admin@[^]*Offshoot is ready at https:\/\/localhost:\d+, and starts with the machine/);
});

test('what images are built with comes along, and what only developers need does not', () => {
  const isNeeded = neededModules(readFileSync(resolve(import.meta.dirname, '../../package-lock.json'), 'utf8'));
  expect(['npm', 'npm/node_modules/pacote', 'fastify', 'vitest'].map(isNeeded)).toEqual([true, true, true, false]);
});

test('visitors find it at the usual ports, unless others are set or a proxy is in front', () => {
  const { paths } = machine;
  expect(settingsToBe(paths, {})).toEqual({ OFFSHOOT_DATA: paths.data, OFFSHOOT_HTTP_PORT: '80', OFFSHOOT_HTTPS_PORT: '443' });
  expect(settingsToBe(paths, { OFFSHOOT_HTTPS_PORT: '8443' })).toMatchObject({ OFFSHOOT_HTTP_PORT: '80', OFFSHOOT_HTTPS_PORT: '8443' });
  expect(settingsToBe(paths, { OFFSHOOT_TLS: 'off' })).toEqual({ OFFSHOOT_DATA: paths.data, OFFSHOOT_TLS: 'off' });
});

test('what cannot be done is refused with a sentence, before anything is changed', async () => {
  const { service, env, paths } = machine;
  const source = await machine.program('1.0.0');
  const refused = (as: typeof service, what: RegExp) =>
    expect(install(as, source, { ...env, OFFSHOOT_DATA: paths.data })).rejects.toThrow(what);
  await refused({ ...service, isRoot: false }, /by root: use sudo/);
  await refused({ ...service, manager: { ...service.manager, isThere: () => false } }, /not run by systemd/);
  const listener = createServer().listen(Number(env['OFFSHOOT_SSH_PORT']), '127.0.0.1');
  await once(listener, 'listening');
  await refused(service, /Port \d+ is in use; stop what listens there, or set OFFSHOOT_SSH_PORT/);
  listener.close();
  const data = openDataFolder(paths.data);
  await refused(service, /Another Offshoot is already running on/);
  data.close();
  expect([existsSync(paths.programs), existsSync(paths.settings), machine.calls]).toEqual([false, false, []]);
  await install(service, source, env);
  await refused(service, /is installed already\. \.\/offshoot upgrade/);
});

test('an installation that did not come to its end can be run again', async () => {
  const { service, env, paths } = machine;
  const broken = await machine.program('1.0.0', { broken: 'A setting is wrong.' });
  await expect(install(service, broken, env)).rejects.toThrow(/A setting is wrong\.[^]*run \.\/offshoot install again/);
  expect(machine.runs()).toBe(false);
  await install(service, await machine.program('1.0.1'), env);
  expect([currentVersion(paths)?.slice(0, 5), machine.runs()]).toEqual(['1.0.1', true]);
});

test('what is removed leaves data and settings, which the next installation uses', async () => {
  const { service, env, paths } = machine;
  await machine.installed('1.0.0');
  await writeFile(paths.settings, `${readFileSync(paths.settings, 'utf8')}OFFSHOOT_LOG_LEVEL=warn\n`);
  await uninstall(service, keepData);
  const gone = [
    paths.programs,
    paths.command,
    ...['offshoot.service', 'offshoot-environments.service'].map((unit) => join(paths.units, unit)),
  ];
  expect([gone.filter((path) => existsSync(path)), machine.runs(), [...machine.enabled]]).toEqual([[], false, []]);
  expect(existsSync(paths.data)).toBe(true);
  await uninstall(service, keepData);
  expect(machine.said.at(-1)).toBe('Offshoot is not installed here.');

  await expect(install(service, await machine.program('2.0.0'), { OFFSHOOT_PORT: '1' })).rejects.toThrow(
    /OFFSHOOT_PORT is not the same there/,
  );
  await install(service, await machine.program('2.0.0'), {});
  expect(readSettings(paths.settings)).toEqual({ OFFSHOOT_DATA: paths.data, ...env, OFFSHOOT_LOG_LEVEL: 'warn' });
});

test('data goes only when that is said twice; what is in the way does not keep the rest', async () => {
  const { service, paths } = machine;
  await machine.installed('1.0.0');
  await expect(uninstall(service, { withData: true, isSure: false })).rejects.toThrow(/deletes all projects.*Add --yes/s);
  expect([machine.runs(), existsSync(paths.data)]).toEqual([true, true]);
  await rm(paths.command);
  await mkdir(paths.command);
  const stuck = { ...service.manager, disable: () => Promise.reject(new Error('the bus is away')) };
  await expect(uninstall({ ...service, manager: stuck }, { withData: true, isSure: true })).rejects.toThrow(
    /could be removed: the bus is away/,
  );
  expect([paths.programs, paths.data, paths.settings].filter((path) => existsSync(path))).toEqual([]);
  expect(existsSync(paths.command)).toBe(true);
});
