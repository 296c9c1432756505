import { once } from 'node:events';
import { expect, test } from 'vitest';
import { openTestPlatform } from '../testing/platform.ts';
import { startListeners } from './listener.ts';

test('a listener begins once the machine is open; the end waits for what it began, and another that fails is only told of', async () => {
  const { platform, logLines } = await openTestPlatform();
  const opened = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const told: string[] = [];
  const hearing = {
    name: 'hears',
    listen: async (_: unknown, signal: AbortSignal) => {
      told.push('begun');
      begun.resolve();
      await once(signal, 'abort');
      await platform.db.selectNoFrom((all) => all.val(1).as('one')).execute();
      told.push('ended');
    },
  };
  const failing = { name: 'fails', listen: () => Promise.reject(new Error('deaf')) };
  const listeners = startListeners([failing, hearing], platform, opened.promise);
  expect(told).toEqual([]);
  opened.resolve();
  await begun.promise;
  await listeners.close();
  expect(told).toEqual(['begun', 'ended']);
  expect(logLines.filter((line) => line.includes('a listener of the machine ended'))).toEqual([expect.stringContaining('deaf')]);
});

test('a platform whose machine was never opened ends without waiting for it', async () => {
  const { platform } = await openTestPlatform();
  const told: string[] = [];
  const unheard = { name: 'unheard', listen: async () => void told.push('begun') };
  await startListeners([unheard], platform, new Promise(() => {})).close();
  expect(told).toEqual([]);
});
