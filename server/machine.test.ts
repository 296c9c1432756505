/** The machine is opened as a whole: what could not be opened once can be opened later, by the same process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../edge/testing/ports.ts';
import { readConfig } from './config.ts';
import { stopEdgeIn } from './drivers/edge/open-edge.ts';
import { removeRunFolder } from './drivers/runtime/runc/runtime-folders.ts';
import { openVolumes } from './drivers/volumes/open-volumes.ts';
import { openLog } from './kernel/log.ts';
import { lazyMachine } from './machine.ts';
import { canRunContainers, testImagesFolder, whyNoContainers } from './testing/images.ts';

const openMillisecondsMax = 90_000;

describe.runIf(canRunContainers)(`the machine${whyNoContainers}`, () => {
  const data = mkdtempSync(join(tmpdir(), 'offshoot-machine-'));
  const closings: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closings.splice(0).toReversed()) await close();
    rmSync(data, { recursive: true, force: true });
  });

  test('is opened at the next attempt when its edge could not start at the first', { timeout: openMillisecondsMax }, async () => {
    const config = readConfig({ OFFSHOOT_DATA: data, OFFSHOOT_HTTP_PORT: String(await freePort()), OFFSHOOT_IMAGES: testImagesFolder });
    const machine = lazyMachine(config, openLog('silent'));
    closings.push(async () => (await openVolumes(config, () => {})).unmount?.());
    closings.push(async () => removeRunFolder(join(data, 'runtime')));
    closings.push(() => stopEdgeIn(join(data, 'edge'), 5));
    closings.push(() => machine.close());
    await machine.claim();
    expect(machine.isOurs()).toBe(true);

    const inTheWay = join(data, 'edge');
    writeFileSync(inTheWay, '');
    await expect(machine.get()).rejects.toThrow(/EEXIST/);
    rmSync(inTheWay);
    expect(await (await machine.get()).edge.list()).toEqual({});
  });
});
