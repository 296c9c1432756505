/** What environments do and use, as it is measured and as apps report it: records for the store of measurements. */
import type { Room } from '../../kernel/room.ts';
import { recordRequests } from './edge-requests.ts';
import { takeTraces } from './otlp-intake.ts';
import { sampleContainers } from './sample-containers.ts';

export const measuring: Room = {
  name: 'Measuring',
  about:
    'What is measured of environments: every request that the edge has answered, what their containers use, and what apps report of their requests and commands.',
  operations: {},
  listeners: [recordRequests, sampleContainers, takeTraces],
};
