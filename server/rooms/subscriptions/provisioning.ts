/** How the projects of an organization that are being made come along, a JSON object per line; it ends when all of them have ended. */
import type { LogHub } from '../../kernel/activity-log.ts';
import type { Db } from '../../kernel/sql.ts';
import { projectById } from '../projects/public.ts';
import { creationsIn } from './queries.ts';

export const provisioningType = 'application/x-ndjson';
const projectsMax = 100;

const steps = [
  { stage: 'repository', label: 'Creating the repository' },
  { stage: 'ready', label: 'Ready' },
];

export async function* provisioningEvents(db: Db, logs: LogHub, organizationId: string, gone: AbortSignal): AsyncGenerator<string> {
  for (const { project_id, activity_id } of await creationsIn(db, organizationId, projectsMax)) {
    yield line({ type: 'data', project_id, ...steps[0], steps });
    for await (const rows of logs.follow(activity_id, gone)) {
      if (rows) yield rows.map(() => line({ type: 'keep_alive', project_id })).join('');
    }
    yield await ending(db, project_id);
  }
}

async function ending(db: Db, project_id: string) {
  const isMade = (await projectById(db, project_id))?.status === 'active';
  return line(
    isMade ? { type: 'done', project_id, ...steps[1], steps } : { type: 'error', project_id, reason: 'The project could not be created.' },
  );
}

const line = (event: object) => `${JSON.stringify({ ...event, timestamp: new Date().toISOString() })}\n`;
