/** An integration that the platform adds by itself, where nobody is asking. */
import { shortId } from '../../kernel/id.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Tx } from '../../kernel/sql.ts';
import { newValues } from './given-values.ts';
import { insertIntegration } from './queries.ts';
import { valueColumns } from './stored-integration.ts';
import type { Given } from './types/types.ts';

export async function insertNew(tx: Tx, secrets: Secrets, projectId: string, given: Given): Promise<void> {
  const [id, values] = [shortId(), newValues(given)];
  const columns = valueColumns(secrets, id, given.type, values);
  await insertIntegration(tx, { id, project_id: projectId, type: given.type, hears_activities: 'events' in values, ...columns });
}
