import { expect, test } from 'vitest';
import type { Work } from '../../../kernel/activity.ts';
import { withProgress } from './deployment-progress.ts';

type Told = Pick<Work<unknown>, 'step' | 'record' | 'progress'>;

test('a deployment tells how far it is: step by step, build by build, and never that it is over', async () => {
  const percents: number[] = [];
  const bare: Told = {
    step: async (_, work) => work(new AbortController().signal),
    record: () => Promise.reject(new Error('not now')),
    progress: (percent) => void percents.push(percent),
  };
  const work = withProgress(bare);
  const nothing = () => Promise.resolve();
  await work.step('validate configuration', nothing);
  await Promise.all(['build one', 'build two', 'build three'].map((name) => work.step(name, nothing)));
  for (const name of ['make volumes', 'something else', 'open services', 'open applications', 'open environment', 'clean up'])
    await work.step(name, nothing);
  expect(percents).toEqual([5, 22, 36, 50, 58, 78, 90, 96, 98]);
  await expect(work.record('make current', nothing)).rejects.toThrow('not now');
  expect(percents).toHaveLength(9);
});
