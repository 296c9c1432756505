import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machinePaths } from './service-paths.ts';
import { environmentsUnit, platformUnit, unitFiles } from './unit-files.ts';

const units = unitFiles(machinePaths, { data: '/srv/100% data', volumes: undefined });

test('the platform starts at boot and again after a failure; what outlives it is ended by another unit, after it', () => {
  const platform = units[platformUnit] ?? '';
  expect(platform).toContain('ExecStart="/opt/offshoot/current/offshoot" start\nRestart=on-failure\n');
  expect(platform).toContain('WantedBy=multi-user.target');
  expect(platform).toMatch(/^After=.* offshoot-environments\.service$/m);
  expect(units[environmentsUnit]).toContain('ExecStop="/opt/offshoot/current/offshoot" shutdown\n');
  expect(platform).toContain('RequiresMountsFor="/opt/offshoot" "/srv/100%% data"\n');
});

test('nothing gives the platform a view of the file system of its own', () => {
  expect(units[platformUnit]).not.toMatch(/^(Private|Protect|ReadOnly|ReadWrite|Inaccessible|Bind|Temporary|Root|Mount)\w+=/m);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test.skipIf(!hasSystemd)(`systemd finds nothing wrong with them${hasSystemd ? '' : ' (left out: there is none here)'}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-units-'));
  const known = unitFiles({ ...machinePaths, programs: folder }, { data: folder, volumes: undefined });
  // The program need not be there for this; any other does.
  for (const [name, text] of Object.entries(known))
    writeFileSync(join(folder, name), text.replaceAll(`"${folder}/current/offshoot"`, '/bin/true'));
  const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', ...Object.keys(known).map((name) => join(folder, name))], {
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  expect({ status, ours: stderr.split('\n').filter((line) => line.includes('offshoot')) }).toEqual({ status: 0, ours: [] });
});
