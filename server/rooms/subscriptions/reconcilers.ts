import type { Reconciler } from '../../kernel/reconciler.ts';
import { failAbandoned } from './queries.ts';

/** Nobody waits for a project that nothing makes any more. */
export const giveUpAbandonedCreations: Reconciler = {
  name: 'give up abandoned creations',
  everySeconds: 30,
  run: async ({ db }) => void (await failAbandoned(db)),
};
