import { sql } from 'kysely';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import type { Mirror } from './mirror.ts';
import { fetchedBranches, rulesOf } from './mirror-plan.ts';

/** Remembers which environments are the host's: those of its branches, and those of its pull requests. */
export async function markMirrored(tx: Tx, platform: Platform, { integration, project }: Mirror): Promise<void> {
  const { fetchBranches, buildPullRequests } = rulesOf(integration, project.default_branch);
  const branches = fetchBranches ? [...(await fetchedBranches(platform, project.id)).keys()] : [];
  await sql`update environments set is_mirrored = not is_mirrored
    where project_id = ${project.id}
      and is_mirrored is distinct from ((not is_pr and id = any(${branches}::text[])) or (is_pr and ${buildPullRequests}::boolean))`.execute(
    tx,
  );
}
