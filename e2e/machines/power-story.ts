/** What a power cut does, in the middle of writes and deployments. */
import { expect, test } from 'vitest';
import { type Project, successful } from '../open-project.ts';
import { emptyLedger, expectKept, signInAsClient, write } from '../writing.ts';
import { hookIsDone, signConstantly, writeGuestbook, writeLingeringGuestbook } from './guestbook.ts';
import { type Machine, spareDisk } from './machine.ts';
import { note, time } from './measured.ts';
import { patiently } from './patiently.ts';
import { activitySecondsMax, branch, everythingOf, expectAllRows, type Stage } from './stage.ts';

/** However slow the machine is, there is something to be lost. */
const writtenMin = 10;

export function tellOfPowerCuts(onStage: () => Stage) {
  test('the power is cut while visitors write, clients write and a branch is deployed: nothing acknowledged is lost', async () => {
    const stage = onStage();
    const { machine, platform, guestbook } = stage;
    await guestbook.git('switch', '--quiet', '--create', 'preview');
    await branch(stage, 'preview');
    await writeLingeringGuestbook(guestbook, 'two', await machine.bootId());
    await using signing = signConstantly(await guestbook.address('main'));
    await writeSpare(machine, 'flushed', 0, 'fsync');
    await writeSpare(machine, 'not flushed', 1);
    const { pushing } = await pushUntilHookIsDone(guestbook, 'preview');
    const [client, ledger] = [await signInAsClient(platform.url, platform.apiToken), emptyLedger()];
    const writing = write(client, ledger);
    const isMuchWritten = () => signing.acknowledged.length > writtenMin && ledger.acknowledged > writtenMin;
    await patiently('much is written', isMuchWritten, activitySecondsMax);

    await cutPowerInTheMiddleOf(stage, 'preview');
    await Promise.all([signing.stop(), writing, pushing]);
    await untilBack(stage);
    // It was a cut as of real power.
    expect([await readSpare(machine, 0), await readSpare(machine, 1)]).toEqual(['flushed', '']);
    await expectKept({ ...client, accessToken: await platform.accessToken() }, ledger);
    note('writes of clients after a power cut', `${ledger.acknowledged} acknowledged, all found`);
    await expectAllRows(stage, signing.acknowledged, 'a power cut');
    await expectSettled(stage, 'preview', { before: 'one', after: 'two' });
  });

  test('the power is cut while what visitors write to is deployed itself: it is as before or as asked, and the next push works', async () => {
    const stage = onStage();
    const { machine, guestbook } = stage;
    await guestbook.git('switch', '--quiet', 'main');
    await using signing = signConstantly(await guestbook.address('main'));
    await patiently('much is written', () => signing.acknowledged.length > writtenMin, activitySecondsMax);
    const before = (await everythingOf(stage, 'main')).version;
    await writeLingeringGuestbook(guestbook, 'three', await machine.bootId());
    const { pushing } = await pushUntilHookIsDone(guestbook, 'main');

    await cutPowerInTheMiddleOf(stage, 'main');
    await Promise.all([signing.stop(), pushing]);
    await untilBack(stage);
    await expectSettled(stage, 'main', { before, after: 'three' });
    await expectAllRows(stage, signing.acknowledged, 'a power cut');

    await writeGuestbook(guestbook, 'four');
    await time('later push', () => guestbook.push('main'));
    successful(await guestbook.lastActivity('main'));
    expect(await everythingOf(stage, 'main')).toMatchObject({ version: 'four', words: expect.arrayContaining(signing.acknowledged) });
  });
}

/** In places that the layer of the disk keeps apart. */
const writeSpare = (machine: Machine, words: string, megabyte: number, ...flags: string[]) =>
  machine.run(`dd of=${spareDisk} bs=1M seek=${megabyte} oflag=direct conv=${['sync', ...flags].join(',')}`, words);
const readSpare = (machine: Machine, megabyte: number) => machine.run(`dd if=${spareDisk} bs=1M skip=${megabyte} count=1 | tr -d '\\0'`);

async function pushInProgress(guestbook: Project, branch: string): Promise<{ log: string } | undefined> {
  const [last] = await guestbook.api('GET', `/environments/${branch}/activities?count=1&type=environment.push`);
  // Lists leave the logs out.
  return last?.state === 'in_progress' ? guestbook.api('GET', `/activities/${last.id}`) : undefined;
}

/** The push is on its way until somebody waits for it, and ends in whatever way. */
async function pushUntilHookIsDone(guestbook: Project, branch: string) {
  const pushing = guestbook.push(branch).catch(() => undefined);
  const isDone = async () => (await pushInProgress(guestbook, branch))?.log.includes(hookIsDone) === true;
  await patiently(`the deploy hook of ${branch} has done its work`, isDone, activitySecondsMax);
  return { pushing };
}

async function cutPowerInTheMiddleOf({ guestbook, machine }: Stage, branch: string) {
  expect(await pushInProgress(guestbook, branch)).toBeDefined();
  await machine.cutPower();
}

async function untilBack({ machine, platform }: Stage) {
  await time('boot after a power cut', () => machine.boot());
  await time('start after a power cut', () => platform.untilReady());
}

/** What it serves is what its last deployment says. */
async function expectSettled(stage: Stage, environment: string, versions: { before: string; after: string }) {
  const { result } = await time('deployment settled after a power cut', () => stage.guestbook.lastActivity(environment));
  const { version } = await everythingOf(stage, environment);
  note(`deployment of ${environment} after a power cut`, `${result}, serves version ${version}`);
  expect(version).toBe(result === 'success' ? versions.after : versions.before);
}
