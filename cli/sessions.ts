/** Who is inside running apps. */
import { openSessions } from '../server/rooms/ssh/public.ts';
import { operate } from './database.ts';

const sessionsMax = 10_000;

export const listSessions = () =>
  operate(async (db) => {
    for (const { email, project_id, environment_id, runs, instance, address, started_at } of await openSessions(db, sessionsMax))
      console.log([started_at.slice(0, 19), email, project_id, environment_id, `${runs}:${instance}`, address].join('  '));
  });
