/**
 * Everything that is told, by the part of the platform that knows it. A part that fails or is not in this process leaves out what it would tell, and says so in `offshoot_part_up`, so that one that is
 * broken hides nothing of the others.
 */
import type { Family } from '../../kernel/instruments.ts';
import { ownFamilies } from '../../kernel/own-instruments.ts';
import type { Platform } from '../../platform.ts';
import { forwardingFamilies } from '../integrations/public.ts';
import { relayFamilies } from '../relay/public.ts';
import {
  activityFamilies,
  backupFamilies,
  certificateFamilies,
  databaseFamilies,
  deliveryFamilies,
  environmentFamilies,
} from './of-database.ts';
import { containerFamilies, edgeFamilies, volumeFamilies } from './of-machine.ts';
import { measurementFamilies, processFamilies } from './of-process.ts';

type Read = (platform: Platform) => Promise<Family[]> | Family[];

const parts: Record<string, Read> = {
  process: processFamilies,
  platform: ownFamilies,
  database: databaseFamilies,
  activities: activityFamilies,
  deliveries: deliveryFamilies,
  environments: environmentFamilies,
  backups: backupFamilies,
  certificates: certificateFamilies,
  measurements: measurementFamilies,
  log_forwarding: forwardingFamilies,
  relay: relayFamilies,
  edge: edgeFamilies,
  containers: containerFamilies,
  volumes: volumeFamilies,
};

/** Prometheus waits ten seconds unless told otherwise. */
const secondsMax = 4;

export async function readParts(platform: Platform): Promise<Family[]> {
  const read = await Promise.all(
    Object.entries(parts).map(async ([part, families]) => ({ part, families: await inTime(families, platform) })),
  );
  const up = read.map(({ part, families }) => ({ labels: { part }, value: families ? 1 : 0 }));
  return [
    { name: 'offshoot_part_up', help: 'Whether the part of the platform could be read in this process.', type: 'gauge', samples: up },
    ...read.flatMap(({ families }) => families ?? []),
  ];
}

async function inTime(read: Read, platform: Platform): Promise<Family[] | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), secondsMax * 1000);
  try {
    return await Promise.race([(async () => read(platform))(), late.promise]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
