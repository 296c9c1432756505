import { operation, stream } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { eventStream, eventStreamType } from './event-stream.ts';
import { openSight } from './visible-changes.ts';

/** As many browser tabs and programs as one person watches with at a time, in each process of the API. */
const streamsOfOneMax = 30;

export const followEvents = operation({
  summary: 'Follow what changes',
  endpoint: 'GET /events',
  permission: 'signed-in',
  takesArrival: true,
  returns: stream(eventStreamType),
  handle: async ({ caller, arrival }, platform) => {
    if (platform.changes.watchingFor(caller.id) >= streamsOfOneMax)
      throw new Problem('too-many-requests', `You are following what changes ${streamsOfOneMax} times already; close one of them first.`);
    const position = arrival?.headers['last-event-id'];
    return (gone) =>
      eventStream(
        platform.changes.watch(caller.id, typeof position === 'string' ? position : undefined),
        openSight(caller, platform),
        gone,
      );
  },
});
