import { sql, type RawBuilder } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';

export interface StoredDomain {
  name: string;
  project_id: string;
  organization_id: string;
  /** Null: of production. */
  environment_id: string | null;
  replacement_for: string | null;
  registered_name: string;
  attributes: Record<string, string>;
  is_default: boolean;
  /** Of the certificate that it is served with; null: there is none yet. */
  certificate_expires_at: string | null;
  /** Why an automatic certificate has not come yet, or why clients refuse the one that is presented; null: all is well. */
  certificate_trouble: string | null;
  created_at: string;
  updated_at: string;
}

/** A certificate is for a domain that it names, or whose parent it names with a wildcard. */
const certificateExpiry = sql`(
  select max(certificates.expires_at) from certificates
  where certificates.project_id = domains.project_id and not certificates.is_invalid and certificates.expires_at > now()
    and certificates.names && array[domains.name, '*' || substr(domains.name, strpos(domains.name, '.'))])`;

const switchedOff =
  'Automatic certificates are switched off for this project (enable_certificate_provisioning): give it a certificate that names the domain.';

const certificateTrouble = sql`coalesce(
  (select issuances.trouble from issuances where issuances.project_id = domains.project_id and domains.name = any(issuances.names)
    order by issuances.updated_at desc limit 1),
  (select status_trouble from certificates where certificates.project_id = domains.project_id and domains.name = any(certificates.serves)
    and status_trouble is not null limit 1),
  case when projects.settings ->> 'enable_certificate_provisioning' = 'false' and ${certificateExpiry} is null then ${switchedOff}::text end)`;

async function domainsWhere(db: Db | Tx, condition: RawBuilder<unknown>): Promise<StoredDomain[]> {
  const { rows } = await sql<StoredDomain>`
    select domains.*, projects.organization_id, projects.default_domain is not distinct from domains.name as is_default,
      ${certificateExpiry} as certificate_expires_at, ${certificateTrouble} as certificate_trouble
    from domains join projects on projects.id = domains.project_id and projects.status <> 'deleted'
    where ${condition} order by domains.created_at, domains.name`.execute(db);
  return rows;
}

export const productionDomains = (db: Db | Tx, projectId: string) =>
  domainsWhere(db, sql`domains.project_id = ${projectId} and domains.environment_id is null`);

export const productionDomain = async (db: Db | Tx, projectId: string, name: string): Promise<StoredDomain | undefined> =>
  (await domainsWhere(db, sql`domains.project_id = ${projectId} and domains.environment_id is null and domains.name = ${name}`))[0];

export const domainsOfProduction = async (db: Db | Tx, projectId: string): Promise<string[]> =>
  (await productionDomains(db, projectId)).map(({ name }) => name);

/** Of all environments. */
export const allDomains = (db: Db | Tx, projectId: string) => domainsWhere(db, sql`domains.project_id = ${projectId}`);

/** Of an environment: those of production where it is that, its replacements elsewhere. */
const ofEnvironment = (projectId: string, { id, type }: Pick<Site, 'id' | 'type'>) =>
  sql`domains.project_id = ${projectId} and domains.environment_id is not distinct from ${type === 'production' ? null : id}::text`;

export const domainsOfEnvironment = (db: Db | Tx, projectId: string, site: Pick<Site, 'id' | 'type'>) =>
  domainsWhere(db, ofEnvironment(projectId, site));

export const domainOfEnvironment = async (db: Db | Tx, projectId: string, site: Pick<Site, 'id' | 'type'>, name: string) =>
  (await domainsWhere(db, sql`${ofEnvironment(projectId, site)} and domains.name = ${name}`))[0];

/** An environment, as far as domains have to do with it. */
export interface Site {
  id: string;
  title: string;
  type: EnvironmentType;
}

export const siteById = async (db: Db | Tx, projectId: string, id: string): Promise<Site | undefined> => {
  const { rows } = await sql<Site>`select id, title, type from environments where project_id = ${projectId} and id = ${id}`.execute(db);
  return rows[0];
};

/** That of the default branch, unless another one is dedicated to production. */
export const productionSite = async (db: Db | Tx, projectId: string): Promise<Site | undefined> => {
  const { rows } = await sql<Site>`
    select environments.id, environments.title, environments.type from environments join projects on projects.id = environments.project_id
    where project_id = ${projectId} and environments.type = 'production'
    order by environments.id = projects.default_branch desc, environments.id limit 1`.execute(db);
  return rows[0];
};

/** Environments in which something takes the place of the domain. */
export const sitesWithReplacements = async (db: Db | Tx, projectId: string, name: string): Promise<Site[]> => {
  const { rows } = await sql<Site>`
    select id, title, type from environments where project_id = ${projectId}
      and id in (select environment_id from domains where project_id = ${projectId} and replacement_for = ${name}) order by id`.execute(db);
  return rows;
};

/** Until the transaction ends nobody else changes domains or claims: what is counted and compared stays true, over all projects. */
export const takeDomains = (tx: Tx) => sql`select pg_advisory_xact_lock(hashtextextended('domains', 0))`.execute(tx);

export const insertDomain = (
  tx: Tx,
  row: Pick<StoredDomain, 'name' | 'project_id' | 'environment_id' | 'replacement_for' | 'registered_name' | 'attributes'>,
) =>
  tx
    .insertInto('domains')
    .values({ ...row, attributes: JSON.stringify(row.attributes) })
    .execute();

export const updateAttributes = (tx: Tx, name: string, attributes: Record<string, string>) =>
  tx
    .updateTable('domains')
    .set({ attributes: JSON.stringify(attributes), updated_at: sql<string>`clock_timestamp()` })
    .where('name', '=', name)
    .execute();

/** Those that are attached to it go with it. False: it was gone already. */
export const deleteDomain = async (tx: Tx, projectId: string, name: string): Promise<boolean> => {
  const gone = await tx.deleteFrom('domains').where('project_id', '=', projectId).where('name', '=', name).returning('name').execute();
  return gone.length > 0;
};

/** The one that is wanted, else the one that is, else the oldest; a wildcard only where there is nothing else. */
export const settleDefault = (tx: Tx, projectId: string, wanted?: string) =>
  sql`update projects set updated_at = now(), default_domain = (
      select name from domains where domains.project_id = projects.id and environment_id is null
      order by name is not distinct from ${wanted ?? null}::text desc, name like '*.%', name is not distinct from projects.default_domain desc,
        created_at, name limit 1)
    where id = ${projectId}`.execute(tx);

/** With its first domain robots are let in, and with its last they are shut out again; in between, people decide. */
export const settleRobots = (tx: Tx, projectId: string, environmentId: string, restrict_robots: boolean) =>
  sql`update environments set restrict_robots = ${restrict_robots}, updated_at = clock_timestamp()
    where project_id = ${projectId} and id = ${environmentId}`.execute(tx);

/** A domain of this project with a name in common: itself, or one that a wildcard stands for too; of another environment unless that is named. */
export const overlapping = async (tx: Tx, name: string, projectId: string, environmentId: string | null) => {
  const { rows } = await sql<{ name: string; environment_id: string | null }>`
    select name, environment_id from domains
    where name = ${name} or (project_id = ${projectId} and environment_id is distinct from ${environmentId}::text and names_of(name) && names_of(${name}))
    order by name limit 1`.execute(tx);
  return rows[0];
};
