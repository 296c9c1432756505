/** Integrations of projects that were deleted go, with their secrets; code hosts are told not to call any more. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import { recordRemoval } from './code-hosts/register-webhook.ts';
import { opened } from './integration.ts';
import { deleteIntegration } from './queries.ts';
import type { StoredIntegration } from './stored-integration.ts';

const atOnceMax = 100;

export const forgetIntegrations: Reconciler = {
  name: 'forget integrations of deleted projects',
  everySeconds: 300,
  run: async (platform) => {
    const { db, secrets } = platform;
    const { rows } = await sql<StoredIntegration>`
      select integrations.*, projects.organization_id from integrations join projects on projects.id = integrations.project_id
      where projects.status = 'deleted' limit ${atOnceMax}`.execute(db);
    for (const row of rows)
      await db.transaction().execute(async (tx) => {
        if (await deleteIntegration(tx, row.id)) await recordRemoval(tx, platform, opened(secrets, row));
      });
  },
};
