/** Where service types are in use, for whoever wants to take one away. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import { nameOfType } from '../../catalogue/catalogue.ts';

export interface ServiceTypeUse {
  project_id: string;
  environment_id: string;
  /** With its version. */
  type: string;
}

const usesMax = 1000;

/** What is deployed now, or about to be, with a service of the type, whatever its version. */
export async function usesOfServiceType(db: Db | Tx, name: string): Promise<ServiceTypeUse[]> {
  const { rows } = await sql<ServiceTypeUse>`
    select distinct project_id, environment_id, service.value ->> 'type' as type
    from deployments, json_each(model -> 'services') as service
    where status in ('current', 'preparing') and service.value ->> 'type' like ${`${name}:%`}
    order by project_id, environment_id, type limit ${usesMax}`.execute(db);
  return rows.filter(({ type }) => nameOfType(type) === name);
}
