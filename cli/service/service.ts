/** A service on this machine, for whoever installs, upgrades or removes it; and what each of them refuses before it begins. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, type Config } from '../../server/config.ts';
import { ifUnlocked } from '../../server/drivers/file-lock.ts';
import { longCommandSecondsMax, run } from '../../server/drivers/command.ts';
import { Problem } from '../../server/kernel/problem.ts';
import { usualPatience, type Patience } from './healthy.ts';
import { machinePaths, type ServicePaths } from './service-paths.ts';
import { systemd, type ServiceManager } from './service-manager.ts';
import { readSettings } from './settings-file.ts';

export interface Service {
  paths: ServicePaths;
  manager: ServiceManager;
  patience: Patience;
  isRoot: boolean;
  /** Writes all that is in the file system of that folder to the disk. */
  flush(folder: string): Promise<unknown>;
  say(line: string): void;
}

export const thisMachine: Service = {
  paths: machinePaths,
  manager: systemd,
  patience: usualPatience,
  isRoot: process.getuid?.() === 0,
  flush: (folder) => run('sync', ['--file-system', folder], longCommandSecondsMax),
  say: (line) => console.log(line),
};

export function refuseMachine({ manager, isRoot }: Service): void {
  if (!isRoot) throw new Problem('forbidden', 'A service is installed, upgraded and removed by root: use sudo.');
  if (!manager.isThere())
    throw new Problem(
      'unavailable',
      'This machine is not run by systemd. Have whatever starts its services run ./offshoot start, and start it again when it ends with an error.',
    );
}

/** The configuration as the unit and the command read it. */
export const installedConfig = ({ settings }: ServicePaths): Config => readConfig(readSettings(settings));

/** Only one command works at a time; the folder of programs has to exist. */
export async function alone({ paths }: Service, work: () => Promise<void>): Promise<void> {
  if (!existsSync(paths.programs)) return work();
  const done = await ifUnlocked(join(paths.programs, 'lock'), async () => {
    await withoutInterruption(work);
    return true;
  });
  if (!done) throw new Problem('conflict', 'Another command installs, upgrades or removes the service at the moment; wait for it.');
}

const interruptions = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Ignores signals of a broken connection or of an impatient person, which would leave the platform stopped. After a kill the command can be run again. */
async function withoutInterruption(work: () => Promise<void>): Promise<void> {
  const heed = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGHUP') console.error('offshoot: this goes through to its end, or back; wait for it.');
  };
  for (const signal of interruptions) process.on(signal, heed);
  try {
    await work();
  } finally {
    for (const signal of interruptions) process.off(signal, heed);
  }
}
