import { sql, type Insertable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Db } from '../../kernel/sql.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import type { SlugImage } from './slugs.ts';

/** How many builds the project's organization may have at once, by its own quota or by the default; undefined: as many as there are places for. */
export const buildsMaxOf = async (db: Db, projectId: string): Promise<number | undefined> => {
  const { rows } = await sql<{ builds: number | null }>`
    select builds from quotas where project_id is null
      and (organization_id is null or organization_id = (select organization_id from projects where id = ${projectId}))
    order by organization_id nulls last limit 1`.execute(db);
  return rows[0]?.builds ?? undefined;
};

/** Notes that the slug is in use; returns false where there is no such slug. */
export const useSlugRow = async (db: Db, id: string): Promise<boolean> => {
  const { rows } = await sql`update slugs set last_used_at = clock_timestamp() where id = ${id} returning id`.execute(db);
  return rows.length > 0;
};

/** As it is stored with its slug. */
export const storedImage = (image: SlugImage | undefined) => (image ? JSON.stringify(image) : null);

export const imageOfSlug = async (db: Db, id: string): Promise<SlugImage | undefined> => {
  const { rows } = await sql<{ image: SlugImage | null }>`select image from slugs where id = ${id}`.execute(db);
  return rows[0]?.image ?? undefined;
};

export const insertSlug = async (db: Db, slug: Insertable<Database['slugs']>): Promise<void> => {
  await db
    .insertInto('slugs')
    .values(slug)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ volume: slug.volume, bytes: slug.bytes, image: slug.image ?? null, last_used_at: sql<string>`clock_timestamp()` }),
    )
    .execute();
};

export const hasSlugs = async (db: Db): Promise<boolean> => {
  const { rows } = await sql`select from slugs limit 1`.execute(db);
  return rows.length > 0;
};

export const hasSlugIn = async (db: Db, volume: string): Promise<boolean> => {
  const { rows } = await sql`select from slugs where volume = ${volume}`.execute(db);
  return rows.length > 0;
};

export const slugVolumes = async (db: Db): Promise<Set<string>> => {
  const rows = await db.selectFrom('slugs').select('volume').execute();
  return new Set(rows.map(({ volume }) => volume));
};

interface Keeping {
  /** How many replaced deployments of each environment keep their slugs, to be rolled back to; deployments with the same slugs count once. */
  replacedMax: number;
  unusedDaysMax: number;
  unusedMinutesMin: number;
  /** The most that slugs that no deployment needs may take together. */
  bytesMax: number;
}

/** `needed`: the ids of slugs of current deployments, and of those that can be rolled back to. */
const recentAndNeeded = (replacedMax: number) => sql`
  recent as (
    select slugs, status, row_number() over (partition by project_id, environment_id, status order by max(created_at) desc) as position
    from deployments where ${deploymentLife.sqlPossible('status', 'keepBuilds')} group by project_id, environment_id, status, slugs),
  needed as (
    select distinct slug ->> 'slug_id' as id from recent, jsonb_each(recent.slugs) as each(app, slug)
    where not ${deploymentLife.sqlPossible('status', 'rollBackTo')} or position <= ${replacedMax})`;

/** The volumes of slugs that no deployment needs, and that are kept only in case somebody builds the same again. */
export const unneededSlugVolumesBeside = async (db: Db, replacedMax: number): Promise<Set<string>> => {
  const { rows } = await sql<{ volume: string }>`
    with ${recentAndNeeded(replacedMax)}
    select volume from slugs where id not in (select id from needed where id is not null)`.execute(db);
  return new Set(rows.map(({ volume }) => volume));
};

/**
 * Forgets slugs that no deployment needs: unused for too long, of projects that are gone, or, oldest first, while all of them together are too
 * large. A slug that was used a moment ago stays, because it may be about to be deployed. Returns the volumes of the forgotten slugs.
 */
export const forgetOldSlugs = async (db: Db, { replacedMax, unusedDaysMax, unusedMinutesMin, bytesMax }: Keeping): Promise<string[]> => {
  const { rows } = await sql<{ volume: string }>`
    with ${recentAndNeeded(replacedMax)},
    unneeded as (
      select id, project_id, last_used_at, sum(bytes) over (order by last_used_at desc, id) as bytes_so_far
      from slugs where id not in (select id from needed where id is not null))
    delete from slugs using unneeded left join projects on projects.id = unneeded.project_id
    where slugs.id = unneeded.id and slugs.last_used_at = unneeded.last_used_at
      and unneeded.last_used_at < now() - make_interval(mins => ${unusedMinutesMin}::integer)
      and (coalesce(projects.status, 'deleted') = 'deleted' or unneeded.bytes_so_far > ${bytesMax}::bigint
        or unneeded.last_used_at < now() - make_interval(days => ${unusedDaysMax}::integer))
    returning slugs.volume`.execute(db);
  return rows.map(({ volume }) => volume);
};

/** What a person who still has an account was granted in a project, by themselves and by their teams. */
export const grantsIn = async (db: Db, userId: string, projectId: string, organizationId: string) => {
  const { rows } = await sql<{ is_owner: boolean; permissions: string[] }>`
    select organizations.owner_id = users.id as is_owner,
      array(
        select unnest(permissions) from user_access where user_access.user_id = users.id and project_id = ${projectId}
        union
        select unnest(teams.project_permissions) from team_members join teams on teams.id = team_members.team_id
          join team_access on team_access.team_id = teams.id
        where team_members.user_id = users.id and team_access.project_id = ${projectId}) as permissions
    from users, organizations
    where users.id::text = ${userId} and not users.deactivated and organizations.id = ${organizationId}`.execute(db);
  const [row] = rows;
  return { isOwner: row?.is_owner ?? false, permissions: row?.permissions ?? [] };
};
