/** What a story is told on: a machine on which the platform is installed and serves a guestbook. */
import { openProject, type Project, successful } from '../open-project.ts';
import { everythingIn, writeGuestbook } from './guestbook.ts';
import { Machine } from './machine.ts';
import { measured } from './measured.ts';
import { lookMilliseconds, patiently } from './patiently.ts';
import { installPlatform, type MachinePlatform } from './platform.ts';

/** Where everything is emulated, beside other work. */
export const activitySecondsMax = 1800;
export const patience = { activitySecondsMax, lookMilliseconds };

export interface Stage {
  machine: Machine;
  platform: MachinePlatform;
  guestbook: Project;
  time: ReturnType<typeof measured>;
}

export async function setStage(name: string, release: string): Promise<Stage> {
  const time = measured(name);
  const machine = await Machine.of(release);
  await time('boot', () => machine.boot());
  const platform = await time('installation', () => installPlatform(machine));
  const guestbook = await openProject(platform, patience);
  await writeGuestbook(guestbook, 'one');
  await time('first push', () => guestbook.push('main'));
  successful(await guestbook.lastActivity('main'));
  return { machine, platform, guestbook, time };
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
