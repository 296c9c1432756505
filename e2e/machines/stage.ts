/** What a story is told on: a machine on which the platform is installed and serves a guestbook. */
import { expect } from 'vitest';
import { type Ended, openProject, type Project, successful } from '../open-project.ts';
import { everythingIn, writeGuestbook } from './guestbook.ts';
import { Machine } from './machine.ts';
import { note, time } from './measured.ts';
import { lookMilliseconds, patiently } from './patiently.ts';
import { installPlatform, type MachinePlatform } from './platform.ts';

/** Where everything is emulated, beside other work. */
export const activitySecondsMax = 1800;
/** Data is copied while nobody writes, for which the platform takes some seconds at most. An emulated machine may need longer: then it says `try again`. */
const copiesMax = 5;
export const patience = { activitySecondsMax, lookMilliseconds };

export interface Stage {
  machine: Machine;
  platform: MachinePlatform;
  guestbook: Project;
}

export async function setStage(release: string): Promise<Stage> {
  const machine = await Machine.of(release);
  return openStage(machine).catch(async (error: unknown) => {
    await machine[Symbol.asyncDispose]();
    throw error;
  });
}

async function openStage(machine: Machine): Promise<Stage> {
  await time('boot', () => machine.boot());
  const platform = await time('installation', () => installPlatform(machine));
  const guestbook = await openProject(platform, patience);
  await writeGuestbook(guestbook, 'one');
  await time('first deployment', async () => {
    await guestbook.push('main');
    successful(await guestbook.lastActivity('main'));
  });
  return { machine, platform, guestbook };
}

/** A branch of main with its data. */
export async function branch({ guestbook }: Stage, name: string): Promise<Ended> {
  let ended = await guestbook.attempt('/environments/main/branch', { name });
  for (let copies = 1; copies < copiesMax && ended.log.includes('try again'); copies += 1) {
    note(`copy of data for ${name}`, 'took too long, tried again');
    ended = await guestbook.attempt(`/environments/${name}/activate`);
  }
  return successful(ended);
}

/** All that is written in the guestbook of an environment, as soon as it is served at all. */
export async function everythingOf({ guestbook }: Stage, environment: string): Promise<{ version: string; words: string[] }> {
  const address = await guestbook.address(environment);
  const isServed = () =>
    everythingIn(address).then(
      () => true,
      () => false,
    );
  await patiently(`${environment} is served`, isServed, activitySecondsMax);
  return everythingIn(address);
}

/** What visitors were told is written in main is there, once. */
export async function expectAllRows(stage: Stage, acknowledged: readonly string[], after: string) {
  const { words } = await time(`page after ${after}`, () => everythingOf(stage, 'main'));
  const found = acknowledged.filter((one) => words.includes(one));
  note(`rows after ${after}`, `${acknowledged.length} acknowledged, ${found.length} found`);
  expect(found).toEqual(acknowledged);
  expect(words.filter((one, index) => words.indexOf(one) !== index)).toEqual([]);
}
