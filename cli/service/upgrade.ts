/**
 * `./offshoot upgrade`: another version takes the place of the one that is installed, and takes it only if it works. Meanwhile environments and the edge serve; the
 * API, Git and SSH are away from the stop of the old version to the start of the new one.
 *
 * What is done is written down before it is done (`upgrade.json`). After a kill at any moment the next run looks at that: it finds the new version at work and
 * leaves it, or goes back and begins again.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../../server/config.ts';
import { refuseUnknownMigrations } from '../../server/kernel/migrate.ts';
import { Problem } from '../../server/kernel/problem.ts';
import { finishChange, lastChange, noteChange, unfinishedChange, type Change } from './change-notes.ts';
import { isHealthy, startHealthy } from './healthy.ts';
import { writeUnits } from './install.ts';
import {
  appliedMigrations,
  hasChangedSince,
  keepState,
  putBackDatabase,
  putBackUnits,
  removeOldStates,
  upgradesFolder,
} from './kept-state.ts';
import { currentVersion, installingMark, type ServicePaths, programFolder } from './service-paths.ts';
import { makeCurrent, placeProgram, removeOldPrograms, versionOf } from './program.ts';
import { alone, installedConfig, refuseMachine, type Service } from './service.ts';
import { platformUnit } from './unit-files.ts';

/** `source`: the folder of the new version. */
export async function upgrade(service: Service, source: string): Promise<void> {
  const { paths, say } = service;
  refuseMachine(service);
  refuseNotInstalled(paths);
  if (resolve(source, '..') === resolve(paths.programs))
    throw new Problem(
      'invalid-request',
      'Name the version to upgrade to: run ./offshoot upgrade in the folder of the other version, or offshoot upgrade <folder>. offshoot upgrade --back takes back the last upgrade.',
    );
  await alone(service, async () => {
    const config = installedConfig(paths);
    await settleUnfinished(service, config);
    const [from, to] = [currentVersion(paths) ?? '', versionOf(source)];
    if (from === to) return say(`${to} is the version that is installed.`);
    refuseUnknownMigrations((await appliedMigrations(config)) ?? [], join(source, 'server', 'migrations'));
    say(`Upgrading from ${from} to ${to}…`);
    await placeProgram(service, source, to);
    await carryOut(service, config, newChange(config, from, to));
    say(`Offshoot ${to} runs at ${config.url}. offshoot upgrade --back brings back ${from}.`);
  });
}

/** The way back that an operator asks for; `isSure`: even if something is lost by it. */
export async function takeBackUpgrade(service: Service, isSure: boolean): Promise<void> {
  const { paths, say } = service;
  refuseMachine(service);
  refuseNotInstalled(paths);
  await alone(service, async () => {
    const config = installedConfig(paths);
    // Whoever asks for the way back has thereby decided what becomes of an interrupted upgrade.
    if (unfinishedChange(paths)?.step === 'switching') await finishChange(paths);
    await settleUnfinished(service, config);
    const last = lastChange(paths);
    if (last === undefined || last.to !== currentVersion(paths) || !existsSync(programFolder(paths, last.from)))
      throw new Problem('not-found', 'There is no upgrade to take back.');
    const isOther = await hasChangedSince(config, last.kept);
    if (isOther && !isSure)
      throw new Problem(
        'conflict',
        `${last.from} does not know the database as it is now. Going back puts it back as it was on ${last.begunAt}: what people did since then is lost. ` +
          'Add --yes if that is right. The present database is kept.',
      );
    say(`Going back from ${last.to} to ${last.from}${isOther ? `, with the database as it was on ${last.begunAt}` : ''}…`);
    await carryOut(service, config, { ...newChange(config, last.to, last.from), unitsOf: last.kept, ...(isOther && { loads: last.kept }) });
    say(`Offshoot ${last.from} runs at ${config.url}.`);
  });
}

function refuseNotInstalled(paths: ServicePaths): void {
  if (currentVersion(paths) === undefined) throw new Problem('not-found', 'Offshoot is not installed here; ./offshoot install does that.');
  if (existsSync(installingMark(paths)))
    throw new Problem('conflict', 'The installation was interrupted, or failed; run ./offshoot install again until it succeeds.');
}

const newChange = (config: Config, from: string, to: string): Change => {
  const begunAt = new Date().toISOString();
  return { from, to, begunAt, step: 'keeping', kept: join(upgradesFolder(config), `${begunAt.replaceAll(/[-:]|\.\d+/g, '')}-${from}`) };
};

async function carryOut(service: Service, config: Config, change: Change): Promise<void> {
  const { paths, manager, patience, say } = service;
  const { from, to, kept, loads, unitsOf } = change;
  noteChange(paths, change);
  try {
    await manager.stop(platformUnit);
    await keepState(paths, config, kept);
    say(`The previous database, settings and units are kept in ${kept}.`);
    noteChange(paths, { ...change, step: 'switching' });
    if (loads !== undefined) await putBackDatabase(paths, config, loads, to);
    await makeCurrent(paths, to);
    if (unitsOf === undefined) await writeUnits(service, config);
    else await putBackUnits(service, unitsOf);
    await startHealthy(manager, config, patience);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    say(`${to} does not work: ${reason}\nGoing back to ${from}…`);
    await takeBack(service, config, unfinishedChange(paths) ?? change);
    throw new Problem('unavailable', `${to} does not work here, so ${from} runs as before. What it said is above, and in the journal.`, {
      cause: error,
    });
  }
  await finishChange(paths);
  await removeOldPrograms(paths, [from]);
  await removeOldStates(config, kept);
}

/** What ran before runs again, with the database that it knows. */
async function takeBack(service: Service, config: Config, { from, to, kept, step }: Change): Promise<void> {
  const { paths, manager, patience, say } = service;
  await manager.stop(platformUnit);
  if (step === 'switching') {
    if (await hasChangedSince(config, kept)) {
      say(`${to} has changed the database; it is put back as it was.`);
      await putBackDatabase(paths, config, kept, from);
    }
    await makeCurrent(paths, from);
    await putBackUnits(service, kept);
  }
  await startHealthy(manager, config, patience);
  await finishChange(paths, 'taken-back');
  await removeOldPrograms(paths, [lastChange(paths)?.from ?? from]);
}

/** Finishes or takes back what a killed command has left. */
async function settleUnfinished(service: Service, config: Config): Promise<void> {
  const { paths, manager, say } = service;
  const change = unfinishedChange(paths);
  if (change === undefined) return;
  const { from, to, begunAt, step } = change;
  const isSwitched = step === 'switching' && currentVersion(paths) === to;
  if (isSwitched && (await isHealthy(manager, config))) {
    say(`The upgrade from ${from} to ${to} was interrupted at its end; ${to} works.`);
    return finishChange(paths);
  }
  // The new version has run, perhaps for days: what people did meanwhile is not thrown away unasked.
  if (isSwitched && (await manager.readySince(platformUnit)) > Date.parse(begunAt))
    throw new Problem(
      'conflict',
      `The upgrade from ${from} to ${to} was interrupted at its end; ${to} has worked since, and does not now. ` +
        `Put that right (journalctl --unit ${platformUnit}), or go back with offshoot upgrade --back.`,
    );
  say(`The upgrade from ${from} to ${to} was interrupted; going back to ${from} first.`);
  await takeBack(service, config, change);
}
