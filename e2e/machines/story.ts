/**
 * What happens to a platform on a machine that people really have: Debian with systemd and control groups of version 2.
 *
 * It is installed as a service, starts, and serves a guestbook. Limits hold. The machine's power is cut while visitors write and deployments are under way
 * (power-story.ts); when the power is back, the platform comes up by itself, every row is there that anybody was told is written, and the deployments come to an
 * end that is true. The machine is rebooted; the service is killed, upgraded, taken back, and in the end removed (service-story.ts).
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openProject } from '../open-project.ts';
import { greedyTries, pushGreedyApp } from './greedy-app.ts';
import { everythingIn, readConstantly, signConstantly } from './guestbook.ts';
import { measuredTable, note, time } from './measured.ts';
import { patiently } from './patiently.ts';
import { journalOf } from './platform.ts';
import { tellOfPowerCuts } from './power-story.ts';
import { tellOfEnd, tellOfKill, tellOfReboot, tellOfUpgrades } from './service-story.ts';
import { activitySecondsMax, branch, patience, setStage, type Stage } from './stage.ts';

const storyMilliseconds = 10_800_000;

export function tellStory(name: string, release: string) {
  describe(`a platform on ${name}`, { timeout: storyMilliseconds }, () => {
    let stage: Stage | undefined;
    const onStage = () => {
      if (!stage) throw new Error('There is no machine with a platform.');
      return stage;
    };
    beforeAll(async () => {
      stage = await setStage(release);
    }, storyMilliseconds);
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') console.log(await journalOf(onStage().machine));
    });
    afterAll(async () => {
      console.log(measuredTable(name));
      await stage?.machine[Symbol.asyncDispose]();
    });

    tellTests(onStage, release);
  });
}

function tellTests(onStage: () => Stage, release: string) {
  tellOfMachine(onStage, release);
  tellOfBranch(onStage);
  tellOfLimits(onStage);
  tellOfPowerCuts(onStage);
  tellOfReboot(onStage);
  tellOfKill(onStage);
  tellOfUpgrades(onStage);
  tellOfEnd(onStage);
}

function tellOfMachine(onStage: () => Stage, release: string) {
  test('the machine has systemd, control groups of version 2, and nothing that failed', async () => {
    const { machine } = onStage();
    expect(await machine.run('cat /proc/1/comm; stat --file-system --format=%T /sys/fs/cgroup')).toBe('systemd\ncgroup2fs');
    expect(await machine.run('. /etc/os-release; echo $VERSION_CODENAME')).toBe(release);
    expect(await machine.run('systemctl list-units --failed --no-legend --plain')).toBe('');
  });
}

function tellOfBranch(onStage: () => Stage) {
  test('a branch has all that was written, and goes its own way', async () => {
    const stage = onStage();
    const { guestbook } = stage;
    const main = await guestbook.address('main');
    await using signing = signConstantly(main);
    await patiently('somebody has signed', () => signing.acknowledged.length > 0, activitySecondsMax);
    await signing.stop();
    await time('branch', () => branch(stage, 'sibling'));
    const before = await everythingIn(main);
    const sibling = await guestbook.address('sibling');
    expect(await everythingIn(sibling)).toEqual(before);
    expect(before.words).toEqual(expect.arrayContaining(signing.acknowledged));

    await using elsewhere = signConstantly(sibling);
    await patiently('somebody has signed the clone', () => elsewhere.acknowledged.length > 0, activitySecondsMax);
    await elsewhere.stop();
    expect(await everythingIn(main)).toEqual(before);
  });
}

function tellOfLimits(onStage: () => Stage) {
  test('an app gets as much memory, processor time, processes and disk as it was given, while its neighbour is served', async () => {
    const { guestbook, platform } = onStage();
    const app = await time('push of another app', async () => pushGreedyApp(await openProject(platform, patience)));
    await using neighbour = readConstantly(await guestbook.address('main'));
    for (const [kind, amount, told, least, most] of greedyTries) {
      const got = await app.take(kind, amount);
      note(told, String(got));
      expect.soft(got, told).toBeGreaterThanOrEqual(least);
      expect.soft(got, told).toBeLessThanOrEqual(most);
    }
    const { count, failures } = await neighbour.stop();
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(0);
  });
}
