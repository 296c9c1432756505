import { expect, test, vi } from 'vitest';
import { openTestPlatform } from '../testing/platform.ts';
import { startReconcilers, type Reconciler } from './reconciler.ts';

const looksMilliseconds = 30_000;

test(
  'those that wait for something far away leave the others their turns, and are all looked after in the end',
  { timeout: 3 * looksMilliseconds },
  async () => {
    const { platform } = await openTestPlatform();
    const begun: string[] = [];
    const ended: string[] = [];
    const answers = Promise.withResolvers<void>();
    const slow = ['one', 'two', 'three'].map((name): Reconciler => ({
      name: `slow ${name}`,
      everySeconds: 3600,
      isSlow: true,
      run: async () => {
        begun.push(name);
        await answers.promise;
        ended.push(name);
      },
    }));
    const quick = { name: 'quick', everySeconds: 3600, run: vi.fn<() => Promise<void>>(() => Promise.resolve()) };
    const reconcilers = startReconcilers([...slow, quick], platform);
    await vi.waitFor(() => expect([begun, quick.run.mock.calls.length]).toEqual([['one'], 1]), looksMilliseconds);
    answers.resolve();
    await vi.waitFor(() => expect(ended).toEqual(['one', 'two', 'three']), looksMilliseconds);
    await reconcilers.close();
  },
);

test('what uses the machine is looked at as soon as the machine is ours, and not before', { timeout: 2 * looksMilliseconds }, async () => {
  const { platform } = await openTestPlatform();
  let isOurs = false;
  const usual = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const run = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const all: Reconciler[] = [
    { name: 'of the machine', everySeconds: 3600, usesMachine: true, run },
    { name: 'usual', everySeconds: 3600, run: usual },
  ];
  const reconcilers = startReconcilers(all, platform, () => isOurs);
  await vi.waitFor(() => expect(usual).toHaveBeenCalledTimes(1), looksMilliseconds);
  expect(run).not.toHaveBeenCalled();
  isOurs = true;
  reconcilers.onMachineOurs();
  await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1), looksMilliseconds);
  await reconcilers.close();
  expect(usual).toHaveBeenCalledTimes(1);
});

test('whose turn comes only when the platform stops does not begin any more', { timeout: 2 * looksMilliseconds }, async () => {
  const { platform } = await openTestPlatform();
  const answers = Promise.withResolvers<void>();
  const begun: string[] = [];
  const all = ['one', 'two'].map((name): Reconciler => ({
    name: `waiting ${name}`,
    everySeconds: 3600,
    isSlow: true,
    run: async () => {
      begun.push(name);
      await answers.promise;
    },
  }));
  const reconcilers = startReconcilers(all, platform);
  await vi.waitFor(() => expect(begun).toEqual(['one']), looksMilliseconds);
  const closed = reconcilers.close();
  answers.resolve();
  await closed;
  expect(begun).toEqual(['one']);
});
