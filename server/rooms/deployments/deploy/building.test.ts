import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Images } from '../../../drivers/images/images.ts';
import { Problem } from '../../../kernel/problem.ts';
import { eachStepTwice } from '../../../testing/activities.ts';
import { definitions, openTestDeployments, type TestDeployments } from '../../../testing/deployed-project.ts';
import { canRunContainers, openTestImages, whyNoContainers } from '../../../testing/images.ts';

const timeout = 300_000;
const imagesMillisecondsMax = 600_000;

const files = (hook: string) => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: static:1
    hooks: { build: ${JSON.stringify(hook)} }
    web: { locations: { /: { root: '', index: [index.html] } } }
    relationships: { cache: }
services:
  cache: { type: 'redis:8.0' }
`,
  'index.html': 'a site',
});

describe.runIf(canRunContainers)(`builds and images of services${whyNoContainers}`, () => {
  const real = openTestImages();
  let all: TestDeployments;
  /** Types whose images were asked for, in order, as on a machine that has none of them. */
  let begun: string[];
  let there: Set<string>;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['static:1', 'redis:8.0']) await real.ensure(type);
  }, imagesMillisecondsMax);
  afterAll(() => all.close());
  beforeEach(() => {
    [begun, there] = [[], new Set()];
  });

  /** `prepare` is what it takes to have an image. */
  function missingImages(prepare: (type: string, signal: AbortSignal) => Promise<void>): Images {
    return {
      ...real,
      built: async (type) => (there.has(type) ? real.built(type) : undefined),
      ensure: async (type, onProgress, signal = new AbortController().signal) => {
        if (!there.has(type)) {
          begun.push(type);
          await prepare(type, signal);
          there.add(type);
        }
        return real.ensure(type, onProgress, signal);
      },
    };
  }

  async function asked(type: string) {
    try {
      await expect.poll(() => begun, { timeout: 30_000 }).toContain(type);
    } catch {
      throw new Problem('unavailable', `Nobody asked for ${type} meanwhile.`);
    }
  }

  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, fail) => signal.addEventListener('abort', () => fail(signal.reason as Error)));

  test('the image of a service is prepared while its app is built, and the log tells one after the other', { timeout }, async () => {
    all.machine.images = missingImages(async (type) => {
      if (type === 'static:1') await asked('redis:8.0');
    });
    const project = await all.project();
    const log = await project.push(files('echo building; touch built'));
    expect(log).toMatch(/Preparing static:1.*\n.*building\n.*Storing the app.*\n {2}Preparing redis:8\.0.*\n/s);
    expect(log.match(/Preparing redis:8\.0/g)).toHaveLength(1);
    expect(await project.found()).toMatchObject({ containers: ['…-service-cache'] });
  });

  test('a build that fails stops the preparation, and is what the log ends with', { timeout }, async () => {
    all.machine.images = missingImages(async (type, signal) => {
      if (type === 'redis:8.0') await untilAborted(signal);
    });
    const { result, log } = await (await all.project()).attempt(files('echo no good; exit 3'));
    expect(result).toBe('failure');
    expect(log).toMatch(/no good\n.*E: Unable to build application 'app': .* ended with exit code 3/s);
    expect(begun).toEqual(expect.arrayContaining(['static:1', 'redis:8.0']));
  });

  test('an image that cannot be had stops the build, which nobody could use', { timeout }, async () => {
    let isBuilding: () => boolean = () => false;
    all.machine.images = missingImages(async (type) => {
      if (type !== 'redis:8.0') return;
      await expect.poll(() => there.has('static:1') && isBuilding(), { timeout: 30_000 }).toBe(true);
      throw new Problem('unavailable', 'An image could not be built; try again later.');
    });
    const { runtime } = all.machine;
    let running = 0;
    const looking = setInterval(() => void runtime.list().then((list) => (running = list.length)), 50);
    isBuilding = () => running > 0;
    try {
      const { result, log } = await (await all.project()).attempt(files('sleep 600'));
      expect(result).toBe('failure');
      expect(log).toContain('E: An image could not be built; try again later.');
      expect((await runtime.list()).filter(({ name }) => name.startsWith('build'))).toEqual([]);
    } finally {
      clearInterval(looking);
    }
  });

  test('after a kill in the middle both go on from where they were', { timeout }, async () => {
    all.machine.images = missingImages(async () => {});
    const project = await all.project();
    const steps = await eachStepTwice(all.home.platform, () => project.beginDeploy(files('touch built')), definitions);
    expect(steps).toEqual(expect.arrayContaining(['build app', 'prepare images', 'make volumes']));
    expect(begun.toSorted()).toEqual(['redis:8.0', 'static:1']);
  });
});
