/** What operators watch the platform by. */
import type { Room } from '../../kernel/room.ts';
import { serveMetrics } from './serve-metrics.ts';

export const monitoring: Room = {
  name: 'Monitoring',
  about: 'What operators watch the platform by.',
  operations: {},
  mount: serveMetrics,
};
