/** The edge leads to the API wherever it is served. Without TLS it does not, as the API is then reached by its own port. */
import { keepTold } from '../../drivers/edge/told.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import { apiProcesses } from './api-processes.ts';
import { platformEntry } from './platform-entry.ts';

export const keepPlatformReached: Reconciler = {
  name: 'keep the platform reached',
  everySeconds: 10,
  usesMachine: true,
  run: async (platform) => {
    if (!platform.config.tls) return;
    const edge = await platform.edge();
    const listed = await edge.list();
    await keepTold(edge, platformEntry(platform.config, await apiProcesses(platform.db)), listed);
  },
};
