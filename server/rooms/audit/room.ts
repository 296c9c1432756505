/** Who did what. The kernel writes it down (kernel/audit.ts); here it is read, and removed when it is old. */
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { removeOldest } from './queries.ts';

const keptDays = 400;
const atOnceMax = 10_000;

const forgetOldRecords: Reconciler = {
  name: 'forget old audit records',
  everySeconds: 3600,
  async run({ db }, signal) {
    while (!signal.aborted && (await removeOldest(db, keptDays, atOnceMax)) === atOnceMax);
  },
};

export const audit: Room = {
  name: 'Audit',
  about: 'Who did what in an organization: every change that was made, for 400 days.',
  operations,
  reconcilers: [forgetOldRecords],
};
