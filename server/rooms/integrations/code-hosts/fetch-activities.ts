/** `integration.<host>.fetch`: looks at a code host, and makes the project's environments what follows from it. Killed anywhere, another one goes on. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { CodeHostSettings } from '../../../drivers/code-hosts/open-code-host.ts';
import { activity, startActivity, type ActivityDefinition } from '../../../kernel/activity.ts';
import { activitiesThat } from '../../../kernel/activity-life-cycle.ts';
import type { Tx } from '../../../kernel/sql.ts';
import { sentence, strong } from '../../activities/public.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import { fetchFromHost } from './fetch-from-host.ts';
import { isCodeHost } from './code-host-of.ts';
import { isLeftAlone } from './mirror.ts';

const Input = Type.Object({ integration: Type.String() });
const keptDays = 30;

const fetchActivity = (host: CodeHostSettings['type']) =>
  activity({ type: `integration.${host}.fetch`, queue: 'integration', input: Input, isPatient: true, keptDays, run: fetchFromHost });

export const fetchActivities: Record<CodeHostSettings['type'], ActivityDefinition<typeof Input>> = {
  bitbucket: fetchActivity('bitbucket'),
  bitbucket_server: fetchActivity('bitbucket_server'),
  gitea: fetchActivity('gitea'),
  github: fetchActivity('github'),
  gitlab: fetchActivity('gitlab'),
};

/**
 * One that waits will see the news of this transaction; one that has begun, and may wait for another attempt, may not. Where the host limits requests, news waits until it
 * takes them again (sync-code-hosts.ts).
 */
export async function startFetch(tx: Tx, { id, project_id, type }: Pick<StoredIntegration, 'id' | 'project_id' | 'type'>): Promise<void> {
  if (!isCodeHost(type) || (await isLeftAlone(tx, id))) return;
  const definition = fetchActivities[type];
  const { rows } = await sql`select from activities
    where project_id = ${project_id} and integration = ${id} and type = ${definition.type} and ${activitiesThat('wait')} and started_at is null
    for update limit 1`.execute(tx);
  if (rows.length > 0) return;
  await startActivity(tx, definition, {
    project_id,
    integration: id,
    lane: `fetch ${id}`,
    isOwed: true,
    input: { integration: id },
    parameters: { integration: id },
    sentence: sentence`Fetched from the code host of integration ${strong(id)}`,
  });
}
