/** Keeps hours of usage written down. In the process that has the machine, as that is where measurements come from and where builds run. */
import { readFileSync } from 'node:fs';
import type { Reconciler } from '../../kernel/reconciler.ts';
import { lookAtAllocations } from './interruptions.ts';
import { meterHours, passWhileNothingIsAllocated } from './meter-hours.ts';
import { noteBackups } from './note-backups.ts';

const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
/** By then containers that ran while the platform was off have been sampled, so that hours may be closed. */
const sampledAfterSeconds = 120;

export const keepAllocationsSeen: Reconciler = {
  name: 'see what is allocated',
  everySeconds: 30,
  usesMachine: true,
  run: async ({ db }) => {
    const now = Date.now();
    await lookAtAllocations(db, { now, bootId, processStarted: now - process.uptime() * 1000 });
    await noteBackups(db);
  },
};

export const keepHoursMetered: Reconciler = {
  name: 'meter hours',
  everySeconds: 300,
  usesMachine: true,
  run: async ({ db, metrics }, signal) => {
    const now = new Date();
    if (await passWhileNothingIsAllocated(db, now)) return;
    const mayClose = process.uptime() >= sampledAfterSeconds && metrics.status().trouble === undefined;
    await meterHours({ db, metrics, now, mayClose, signal });
  },
};
