/**
 * `./offshoot uninstall`: everything ends, and the service is gone from the machine. Data and settings stay unless they are asked for. What cannot be removed does
 * not keep the rest, is told at the end, and is tried again by the next run.
 */
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../server/config.ts';
import { removeEach } from '../../server/drivers/runtime/runc/remove-each.ts';
import { longCommandSecondsMax, run } from '../../server/drivers/command.ts';
import { Problem } from '../../server/kernel/problem.ts';
import { shutDown } from '../shutdown.ts';
import type { ServicePaths } from './service-paths.ts';
import { alone, installedConfig, refuseMachine, type Service } from './service.ts';
import { environmentsUnit, platformUnit } from './unit-files.ts';

interface Extent {
  /** Whether data and settings are removed, too. */
  withData: boolean;
  isSure: boolean;
}

export async function uninstall(service: Service, { withData, isSure }: Extent): Promise<void> {
  refuseMachine(service);
  const { paths, say } = service;
  const isThere = [paths.programs, ...unitPaths(paths)].some((path) => existsSync(path));
  if (!isThere && !(withData && existsSync(paths.settings))) return say('Offshoot is not installed here.');
  const config = installedConfig(paths);
  if (withData && !isSure)
    throw new Problem(
      'conflict',
      `This deletes all projects, environments, their data and what backups there are in ${config.data}, and the settings. Add --yes if that is right.`,
    );
  await alone(service, () => removeAll(service, config, withData));
  say(
    withData
      ? 'Offshoot is removed, with its data.'
      : `Offshoot is removed. Its data is in ${config.data}, its settings in ${paths.settings}.`,
  );
  for (const line of elsewhere(config)) say(line);
}

async function removeAll({ paths, manager }: Service, config: Config, withData: boolean): Promise<void> {
  await removeEach('the service', [
    [() => manager.stop(platformUnit)],
    // Stopping the unit ends environments and the edge; where it did not, `shutDown` does so and says what is in the way.
    [() => manager.stop(environmentsUnit).catch(() => {})],
    [() => shutDown(config)],
    [() => manager.disable(platformUnit)],
    unitPaths(paths).map((path) => () => rm(path, { force: true })),
    [() => manager.reload()],
    [() => removeCommand(paths), () => rm(paths.programs, { recursive: true, force: true })],
    ...(withData ? [[() => removeFolder(config.data)], [() => removeSettings(paths)]] : []),
  ]);
}

const unitPaths = ({ units }: ServicePaths) => [platformUnit, environmentsUnit].map((name) => join(units, name));

/** Removes the command, but not somebody else's program of the same name. */
async function removeCommand({ command, programs }: ServicePaths): Promise<void> {
  const isOurs = lstatSync(command, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(command).startsWith(`${programs}/`);
  if (isOurs) await rm(command, { force: true });
}

/** What may still be mounted in the folder must not be emptied with it. */
const removeFolder = (folder: string) => run('rm', ['--recursive', '--force', '--one-file-system', '--', folder], longCommandSecondsMax);

async function removeSettings({ settings }: ServicePaths): Promise<void> {
  await rm(settings, { force: true });
  await rmdir(dirname(settings)).catch(() => {});
}

/** What is kept outside the data folder; it is never removed. */
const elsewhere = ({ volumes, databaseUrl, backups, data }: Config): string[] => [
  ...(volumes === undefined ? [] : [`The volumes in ${volumes} are left.`]),
  ...(databaseUrl === undefined ? [] : ['The database of DATABASE_URL is left.']),
  ...backups.flatMap((place) =>
    place.kind === 'folder' && !place.folder.startsWith(`${data}/`) ? [`The backups in ${place.folder} are left.`] : [],
  ),
];
