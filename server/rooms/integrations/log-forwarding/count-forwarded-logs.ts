/** Has the bytes of forwarded logs metered: what the files of all forwardings have counted is added to the hour, and the files of those that ended go. */
import { rm } from 'node:fs/promises';
import { countedIn } from '../../../drivers/log-sinks/forwarder.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { countForwarded, forgetCounted } from '../../metering/public.ts';
import { forwardingFolder } from './forward-logs.ts';
import { ownerOf } from './wanted-forwardings.ts';

export const countForwardedLogs: Reconciler = {
  name: 'count forwarded logs',
  everySeconds: 60,
  usesMachine: true,
  run: async ({ db, config }) => {
    for (const { ended, ...counted } of await countedIn(forwardingFolder(config))) {
      const owner = ownerOf(counted.name);
      if (owner) await countForwarded(db, { ...counted, ...owner });
      if (ended === undefined) continue;
      await rm(ended, { force: true });
      await forgetCounted(db, counted);
    }
  },
};
