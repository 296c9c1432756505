import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openImages } from '../../../drivers/images/cached-images.ts';
import { catalogue } from '../../../catalogue/catalogue.ts';
import type { Images } from '../../../drivers/images/images.ts';
import type { Machine } from '../../../machine.ts';
import { deploySample } from '../../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { updateImages } from './image-upkeep.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
let home: TestPlatform;
let images: Images;
let asked = 0;
let ended: PromiseWithResolvers<void>;

beforeAll(async () => {
  ended = Promise.withResolvers();
  images = {
    ...openImages(folder, catalogue),
    update: async () => {
      asked++;
      await ended.promise;
      return { packages: ['openssl 1 becomes 2'], types: ['nodejs:22'] };
    },
  };
  home = await openTestPlatform(undefined, async () => ({ images }) as Machine);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const look = async () => {
  await updateImages.run(home.platform, new AbortController().signal);
  return asked;
};

test('Debian is asked for newer packages as often as the operator says, by one at a time, and nobody waits for it', async () => {
  const { config } = home.platform;
  images.secondsSinceUpdate = () => 86_399;
  expect(await look()).toBe(0);
  await deploySample(home.platform, { projectId: (await sampleProject(await home.person())).projectId, environmentId: 'main' });
  expect(await look()).toBe(0);
  images.secondsSinceUpdate = () => 86_401;
  config.imageUpdateDays = 0;
  expect(await look()).toBe(0);
  config.imageUpdateDays = 1;
  expect([await look(), await look()]).toEqual([1, 1]);
  ended.resolve();
  await updateImages.close?.(home.platform);
  expect(await look()).toBe(2);
  await updateImages.close?.(home.platform);
  images.secondsSinceUpdate = () => undefined;
  expect(await look()).toBe(2);
});
