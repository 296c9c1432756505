/** Which authorities projects chose, for whoever has certificates from them. */
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
