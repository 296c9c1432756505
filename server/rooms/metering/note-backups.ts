/** How much backups take, by environment: what each added to the store, for as long as it is kept. Backups of environments that are gone are the project's. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import { backupsSubject, endAllocated, noteAllocated } from './allocations.ts';

const megabyte = 2 ** 20;

interface Kept {
  project_id: string;
  environment: string;
  /** Null: there are none any more. */
  bytes: number | null;
  version: string | null;
}

export async function noteBackups(db: Db): Promise<void> {
  const { rows } = await sql<Kept>`
    with kept as (
      select backups.project_id, coalesce(machine_name, '') as environment, sum((stored ->> 'bytesAdded')::bigint)::double precision as bytes
      from backups left join environments on environments.project_id = backups.project_id and environments.id = environment_id
      where stored is not null and backups.status <> 'ABANDONED' group by 1, 2),
    noted as (select project_id, environment, version from allocations where subject = ${backupsSubject} and until is null)
    select project_id, environment, bytes, version from kept full join noted using (project_id, environment)
    where version is distinct from bytes::text`.execute(db);
  for (const { project_id, environment, bytes } of rows) {
    const holder = { projectId: project_id, environment, subject: backupsSubject };
    const amounts = [{ service: '', kind: 'backups', cpu: 0, memory: 0, disk: (bytes ?? 0) / megabyte }] as const;
    await db.transaction().execute(async (tx) => {
      if (bytes === null) await endAllocated(tx, holder);
      else await noteAllocated(tx, { ...holder, version: String(bytes), amounts });
    });
  }
}
