/**
 * What happens to a platform on a machine that people really have: Debian with systemd and control groups of version 2.
 *
 * It is installed, starts, and serves a guestbook. Limits hold. Its power is cut while visitors write and deployments are under way; when the power is back, the
 * platform comes up by itself, every row is there that anybody was told is written, and the deployments come to an end that is true.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openProject, type Project, successful } from '../open-project.ts';
import { visitConstantly } from '../visit.ts';
import { emptyLedger, expectKept, signInAsClient, write } from '../writing.ts';
import { greedyTries, pushGreedyApp } from './greedy-app.ts';
import { everythingIn, hookIsDone, signConstantly, writeGuestbook, writeLingeringGuestbook } from './guestbook.ts';
import { Machine, spareDisk } from './machine.ts';
import { measured, measuredNumbers } from './measured.ts';
import { lookMilliseconds, patiently } from './patiently.ts';
import { installPlatform, journalOf, type MachinePlatform } from './platform.ts';

/** Where everything is emulated, beside other work. */
const storyMilliseconds = 5_400_000;
const activitySecondsMax = 1200;
const patience = { activitySecondsMax, lookMilliseconds };
/** However slow the machine is, there is something to be lost. */
const writtenMin = 10;
/** A deployment is held in its middle long enough for the power to be cut there. */
const lingerSeconds = 40;

export function tellStory(name: string, release: string) {
  describe(`a platform on ${name}`, { timeout: storyMilliseconds }, () => {
    let machine: Machine;
    let platform: MachinePlatform;
    let guestbook: Project;
    const time = measured(name);

    beforeAll(async () => {
      machine = await Machine.of(release);
      await time('boot', () => machine.boot());
      platform = await time('first start', () => installPlatform(machine));
      guestbook = await openProject(platform, patience);
      await writeGuestbook(guestbook, 'one');
      await time('first push', () => guestbook.push('main'));
      successful(await guestbook.lastActivity('main'));
    }, storyMilliseconds);
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') console.log(await journalOf(machine));
    });
    afterAll(async () => {
      console.log(measuredNumbers());
      await machine?.[Symbol.asyncDispose]();
    });

    const untilBack = async () => {
      await time('boot after a power cut', () => machine.boot());
      await time('start after a power cut', () => platform.untilReady());
    };
    /** As soon as it is served at all. */
    const everythingOf = async (environment: string) => {
      const address = await guestbook.address(environment);
      const isServed = () =>
        everythingIn(address).then(
          () => true,
          () => false,
        );
      await time('page after a power cut', () => patiently(`${environment} is served`, isServed, activitySecondsMax));
      return everythingIn(address);
    };
    const pushInProgress = async (branch: string): Promise<{ log: string } | undefined> => {
      const [last] = await guestbook.api('GET', `/environments/${branch}/activities?count=1&type=environment.push`);
      // Lists leave the logs out.
      return last?.state === 'in_progress' ? guestbook.api('GET', `/activities/${last.id}`) : undefined;
    };
    /** The push is on its way until somebody waits for it, and ends in whatever way. */
    const pushUntilHookIsDone = async (branch: string) => {
      const pushing = guestbook.push(branch).catch(() => undefined);
      const isDone = async () => (await pushInProgress(branch))?.log.includes(hookIsDone) === true;
      await patiently(`the deploy hook of ${branch} has done its work`, isDone, activitySecondsMax);
      return { pushing };
    };
    const cutPowerInTheMiddleOf = async (branch: string) => {
      expect(await pushInProgress(branch)).toBeDefined();
      await machine.cutPower();
    };
    /** What it serves is what its last deployment says. */
    const expectSettled = async (environment: string, versions: { before: string; after: string }) => {
      const { result } = await time('deployment settled after a power cut', () => guestbook.lastActivity(environment));
      const { version } = await everythingOf(environment);
      expect(version).toBe(result === 'success' ? versions.after : versions.before);
    };

    /** In places that the layer of the disk keeps apart. */
    const writeSpare = (words: string, megabyte: number, ...flags: string[]) =>
      machine.run(`dd of=${spareDisk} bs=1M seek=${megabyte} oflag=direct conv=${['sync', ...flags].join(',')}`, words);
    const readSpare = (megabyte: number) => machine.run(`dd if=${spareDisk} bs=1M skip=${megabyte} count=1 | tr -d '\\0'`);

    test('the machine has systemd, control groups of version 2, and nothing that failed', async () => {
      expect(await machine.run('cat /proc/1/comm; stat --file-system --format=%T /sys/fs/cgroup')).toBe('systemd\ncgroup2fs');
      expect(await machine.run('. /etc/os-release; echo $VERSION_CODENAME')).toBe(release);
      expect(await machine.run('systemctl list-units --failed --no-legend --plain')).toBe('');
    });

    test('a branch has all that was written, and goes its own way', async () => {
      const main = await guestbook.address('main');
      const signing = signConstantly(main);
      await patiently('somebody has signed', () => signing.acknowledged.length > 0, activitySecondsMax);
      await signing.stop();
      await time('branch', () => guestbook.act('/environments/main/branch', { name: 'sibling' }));
      const before = await everythingIn(main);
      const sibling = await guestbook.address('sibling');
      expect(await everythingIn(sibling)).toEqual(before);
      expect(before.words).toEqual(expect.arrayContaining(signing.acknowledged));

      const elsewhere = signConstantly(sibling);
      await patiently('somebody has signed the clone', () => elsewhere.acknowledged.length > 0, activitySecondsMax);
      await elsewhere.stop();
      expect(await everythingIn(main)).toEqual(before);
    });

    test('an app gets as much memory, processor time, processes and disk as it was given, while its neighbour is served', async () => {
      const app = await pushGreedyApp(await openProject(platform, patience));
      const neighbour = visitConstantly(await guestbook.address('main'), ({ status }) => status === 200, 1);
      for (const [kind, amount, least, most] of greedyTries) {
        const got = await app.take(kind, amount);
        expect.soft(got, `${kind} ${amount}`).toBeGreaterThanOrEqual(least);
        expect.soft(got, `${kind} ${amount}`).toBeLessThanOrEqual(most);
      }
      const { count, failures } = await neighbour.stop();
      expect(failures).toEqual([]);
      expect(count).toBeGreaterThan(0);
    });

    test('the power is cut while visitors write, clients write and a branch is deployed: nothing acknowledged is lost', async () => {
      await guestbook.git('switch', '--quiet', '--create', 'preview');
      await guestbook.act('/environments/main/branch', { name: 'preview' });
      await writeLingeringGuestbook(guestbook, 'two', lingerSeconds);
      const signing = signConstantly(await guestbook.address('main'));
      await writeSpare('flushed', 0, 'fsync');
      await writeSpare('not flushed', 1);
      const { pushing } = await pushUntilHookIsDone('preview');
      const [client, ledger] = [await signInAsClient(platform.url, platform.apiToken), emptyLedger()];
      const writing = write(client, ledger);
      const isMuchWritten = () => signing.acknowledged.length > writtenMin && ledger.acknowledged > writtenMin;
      await patiently('much is written', isMuchWritten, activitySecondsMax);

      await cutPowerInTheMiddleOf('preview');
      await Promise.all([signing.stop(), writing, pushing]);
      await untilBack();
      // It was a cut as of real power.
      expect([await readSpare(0), await readSpare(1)]).toEqual(['flushed', '']);
      await expectKept({ ...client, accessToken: await platform.accessToken() }, ledger);
      const { words } = await everythingOf('main');
      expect(signing.acknowledged.filter((one) => !words.includes(one))).toEqual([]);
      expect(words.filter((one, index) => words.indexOf(one) !== index)).toEqual([]);
      await expectSettled('preview', { before: 'one', after: 'two' });
    });

    test('the power is cut while what visitors write to is deployed itself: it is as before or as asked, and the next push works', async () => {
      await guestbook.git('switch', '--quiet', 'main');
      const signing = signConstantly(await guestbook.address('main'));
      await patiently('much is written', () => signing.acknowledged.length > writtenMin, activitySecondsMax);
      const before = (await everythingIn(await guestbook.address('main'))).version;
      await writeLingeringGuestbook(guestbook, 'three', lingerSeconds);
      const { pushing } = await pushUntilHookIsDone('main');

      await cutPowerInTheMiddleOf('main');
      await Promise.all([signing.stop(), pushing]);
      await untilBack();
      await expectSettled('main', { before, after: 'three' });
      const { words } = await everythingOf('main');
      expect(signing.acknowledged.filter((one) => !words.includes(one))).toEqual([]);

      await writeGuestbook(guestbook, 'four');
      await time('later push', () => guestbook.push('main'));
      successful(await guestbook.lastActivity('main'));
      expect(await everythingOf('main')).toMatchObject({ version: 'four', words: expect.arrayContaining(signing.acknowledged) });
    });
  });
}
