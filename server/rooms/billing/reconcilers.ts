import type { Reconciler } from '../../kernel/reconciler.ts';
import { markPastDue } from './payment/settle.ts';

export const keepTermsWatched: Reconciler = {
  name: 'watch terms of payment',
  everySeconds: 3600,
  run: (platform) => markPastDue(platform, Date.now()),
};
