import { expect, test } from 'vitest';
import { createInstallation } from './installation.ts';

const warmStartMillisecondsMax = 3000;

test(`a start is ready within ${warmStartMillisecondsMax} ms when it is not the first`, async () => {
  await using installation = await createInstallation();
  await installation.start();
  const { startMilliseconds } = await installation.restart();
  expect(startMilliseconds).toBeLessThan(warmStartMillisecondsMax);
});
