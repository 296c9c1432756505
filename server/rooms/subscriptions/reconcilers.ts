import type { Reconciler } from '../../kernel/reconciler.ts';
import { failAbandoned } from './queries.ts';

/** A project whose creation was abandoned is marked as failed, so that nobody waits for it. */
export const giveUpAbandonedCreations: Reconciler = {
  name: 'give up abandoned creations',
  everySeconds: 30,
  run: async ({ db }) => void (await failAbandoned(db)),
};
