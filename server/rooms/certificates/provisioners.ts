/** Which authorities projects chose, for whoever has certificates from them. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';

export const provisionerPurpose = (projectId: string) => `certificate_provisioners ${projectId}`;

/** The directories that projects chose, by project. */
export async function chosenDirectories(db: Db): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('certificate_provisioners')
    .select(['project_id', 'directory_url'])
    .where('directory_url', '<>', '')
    .execute();
  return new Map(rows.map(({ project_id, directory_url }) => [project_id, directory_url]));
}

/** The projects for which the operator has switched off automatic certificates. */
export async function projectsWithoutAutomatic(db: Db): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from projects where settings ->> 'enable_certificate_provisioning' = 'false'`.execute(db);
  return new Set(rows.map(({ id }) => id));
}
