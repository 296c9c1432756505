import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../server/config.ts';
import { mountPoints } from '../server/drivers/mounts.ts';
import { openVolumes } from '../server/drivers/volumes/open-volumes.ts';
import { shutDown } from './shutdown.ts';

/** In CI everything must run. */
const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';

test.skipIf(!runsAsRoot)('what a start that was cut off had mounted is let go, though nothing ran yet (takes root)', async () => {
  const data = await mkdtemp(join(tmpdir(), 'offshoot-shutdown-'));
  const config = readConfig({ OFFSHOOT_DATA: data });
  const mounted = () => mountPoints().filter((path) => path.startsWith(data));
  await openVolumes(config, () => {});
  expect(mounted()).not.toEqual([]);
  await shutDown(config);
  expect(mounted()).toEqual([]);
  await rm(data, { recursive: true });
});
