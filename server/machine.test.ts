/** The machine is opened as a whole: what could not be opened once can be opened later, by the same process. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
  const closings: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closings.splice(0).toReversed()) await close();
  });

  async function openOne() {
    const data = mkdtempSync(join(tmpdir(), 'offshoot-machine-'));
    const config = readConfig({
      OFFSHOOT_DATA: data,
      OFFSHOOT_HTTP_PORT: String(await freePort()),
      OFFSHOOT_HTTPS_PORT: String(await freePort()),
      OFFSHOOT_IMAGES: testImagesFolder,
    });
    const machine = lazyMachine(config, openLog('silent'));
    closings.push(() => rmSync(data, { recursive: true, force: true }));
    closings.push(async () => (await openVolumes(config, () => {})).unmount?.());
    closings.push(() => removeRunFolder(join(data, 'runtime')));
    closings.push(() => stopEdgeIn(join(data, 'edge'), 5));
    closings.push(() => machine.close());
    await machine.claim();
    expect(machine.isOurs()).toBe(true);
    return { data, machine };
  }

  test('has an edge before anything else is opened, which sees volumes once they are there', { timeout: openMillisecondsMax }, async () => {
    const { data, machine } = await openOne();
    const edge = await machine.edge();
    expect(existsSync(join(data, 'runtime'))).toBe(false);
    const { pid, listeners } = await edge.status();
    expect(listeners.map(({ scheme }) => scheme)).toEqual(['http', 'https']);
    const opened = await machine.get();
    expect(opened.edge).toBe(edge);
    const { folder } = opened.volumes;
    const placeOf = (path: string) => [statSync(path).dev, statSync(path).ino];
    expect(placeOf(`/proc/${pid}/root${folder}`)).toEqual(placeOf(folder));
  });

  test('is opened at the next attempt when its edge could not start at the first', { timeout: openMillisecondsMax }, async () => {
    const { data, machine } = await openOne();
    const inTheWay = join(data, 'edge');
    writeFileSync(inTheWay, '');
    await expect(machine.get()).rejects.toThrow(/EEXIST/);
    rmSync(inTheWay);
    expect(await (await machine.get()).edge.list()).toEqual({});
  });
});
