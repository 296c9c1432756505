/**
 * Whose a host is by the registered name that it lies in. Projects claim registered names (example.org) with their domains; the claim that is nearest to a
 * host decides. A name that was given up stays bound to the organization that had it until somebody proves that it is theirs.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';

/** `none`: nobody claimed it. `released`: another organization had it. */
export type Standing = 'own' | 'none' | 'released' | 'foreign';

/** By host. A wildcard stands for all names below it: where others claimed one of those, it is foreign. */
export async function standingsOf(db: Db | Tx, projectId: string, hosts: readonly string[]): Promise<Map<string, Standing>> {
  const { rows } = await sql<{ host: string; standing: Standing }>`
    select wanted.host, coalesce(
      (select 'foreign' from domain_claims
        where wanted.host like '*.%' and project_id <> ${projectId} and names_of(name) && names_of(wanted.host) limit 1),
      (select found.standing from (
          select name, case when project_id = ${projectId} then 'own' else 'foreign' end as standing from domain_claims
          where name = any(parents.names)
          union all
          select released_names.name, 'released' from released_names join projects on projects.id = ${projectId}
          where released_names.name = any(parents.names) and released_names.organization_id <> projects.organization_id
            and not exists (select from domain_claims where domain_claims.name = released_names.name)) as found
        order by length(found.name) desc limit 1),
      'none') as standing
    from unnest(${hosts}::text[]) as wanted (host),
      lateral (select array(
        select array_to_string(labels[place:], '.') from generate_subscripts(labels, 1) as place) as names
        from string_to_array(regexp_replace(wanted.host, '^\\*\\.', ''), '.') as labels) as parents`.execute(db);
  return new Map(rows.map(({ host, standing }) => [host, standing]));
}
