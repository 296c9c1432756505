/**
 * Who has which host is written down, and a constraint of the database lets nobody else have it. A deployment claims its hosts before anything of it is on
 * the machine, beside those of the one that serves; once it is current, the environment has the hosts of its routes and no others. What is paused or asleep
 * keeps its own. The edge is told of hosts that are claimed, and of no others.
 */
import { sql } from 'kysely';
import type { Config } from '../../../config.ts';
import { Problem } from '../../../kernel/problem.ts';
import { nudge } from '../../../kernel/reconciler.ts';
import { orConflict, type Db, type Tx } from '../../../kernel/sql.ts';
import { keepCertificates } from '../../certificates/work.ts';
import { standingsOf, type Standing } from '../../domain-names/public.ts';
import { requiresDomainOwnership } from '../../projects/public.ts';
import {
  covers,
  generatedHost,
  haveNamesInCommon,
  isIn,
  refusalOf,
  wantedHosts,
  withoutCovered,
  type HostConfig,
  type WantedHost,
} from '../stack/host-names.ts';
import type { Stack } from '../stack/stack.ts';
import { deploymentLife } from '../life-cycle.ts';

/** The number of the claim to each host. */
export type Claims = Readonly<Record<string, number>>;

interface Claimant {
  project_id: string;
  environment_id: string;
}

type ClaimConfig = HostConfig & Pick<Config, 'domainVerification'>;

type Subject = Claimant & { machine_name: string };

/** The claim under which an environment has the host; undefined where it does not have the host. */
export const claimOf = (claims: Claims, host: string): number | undefined =>
  Object.entries(claims).find(([claimed]) => covers(claimed, host))?.[1];

/** The claims of an environment, as a column for queries of environments. */
export const claimsOfEnvironment = sql<Claims>`(select coalesce(jsonb_object_agg(host, claim), '{}') from hosts
  where hosts.project_id = environments.project_id and hosts.environment_id = environments.id)`;

/** Throws a Problem that names each route whose host the environment cannot have. */
export async function refuseForeignHosts(db: Db | Tx, config: ClaimConfig, subject: Subject, routes: Stack['routes']): Promise<void> {
  const wanted = wantedHosts(routes);
  const own = generatedHost(subject, config);
  const taken = (await claimsInTheWay(db, subject, wanted)).filter((claim) => !isGivenUp(claim, subject));
  const hosts = wanted.map(({ host }) => host);
  const standings = await standingsOf(
    db,
    subject.project_id,
    hosts.filter((host) => !isIn(own, host)),
  );
  const mustProve = await requiresDomainOwnership(db, config, subject.project_id);
  const refused = wanted.flatMap(({ host, route }) => {
    const owner = taken.find((claim) => haveNamesInCommon(claim.host, host));
    const reason =
      refusalOf({ host, own, config }) ?? (owner && takenBy(owner, host, subject)) ?? notIn(standings.get(host), host, mustProve);
    return reason === undefined ? [] : [`routes: ${route} ${reason}`];
  });
  if (refused.length > 0) throw new Problem('invalid-request', `Invalid deployment: ${refused.slice(0, refusedToldMax).join(' ')}`);
}

const refusedToldMax = 10;

/** Names an environment only where it is in the same project: nobody is told which other project has a host. */
const takenBy = ({ project_id, environment_id }: Claimant, host: string, subject: Claimant) =>
  project_id === subject.project_id
    ? `is at ${host}, which belongs to the environment ${environment_id} of this project; choose another host, or remove it there first.`
    : `is at ${host}, which belongs to another project; choose another host.`;

/** What keeps a host from an environment although nobody serves it: the registered name that it lies in. */
function notIn(standing: Standing | undefined, host: string, mustProve: boolean): string | undefined {
  if (standing === 'foreign') return `is at ${host}, in a domain that another project has.`;
  if (standing === 'released' || (standing === 'none' && mustProve))
    return `is at ${host}, which is not known to be yours; add it to the project as a domain first, and prove that it is.`;
  return undefined;
}

interface Claim extends Claimant {
  host: string;
  is_production: boolean;
}

/** Claims of other environments that have a name in common with the wanted hosts. */
async function claimsInTheWay(db: Db | Tx, { project_id, environment_id }: Claimant, wanted: readonly WantedHost[]): Promise<Claim[]> {
  const hosts = wanted.map(({ host }) => host);
  const { rows } = await sql<Claim>`
    select distinct hosts.host, hosts.project_id, hosts.environment_id, environments.type = 'production' as is_production
    from unnest(${hosts}::text[]) as wanted (host) join hosts on names_of(hosts.host) && names_of(wanted.host)
    join environments on environments.project_id = hosts.project_id and environments.id = hosts.environment_id
    where (hosts.project_id, hosts.environment_id) <> (${project_id}, ${environment_id})`.execute(db);
  return rows;
}

/** An environment that was production serves its hosts until the new production environment is current, and takes them over. */
const isGivenUp = ({ project_id, is_production }: Claim, subject: Claimant) => project_id === subject.project_id && !is_production;

/** Claims the hosts of the routes, so that nobody else gets them. Hosts that the environment already has stay its own. */
export async function claimHosts(tx: Tx, config: ClaimConfig, subject: Subject, routes: Stack['routes']): Promise<void> {
  await lockHosts(tx);
  await refuseForeignHosts(tx, config, subject, routes);
  const wanted = wantedHosts(routes);
  const later = await claimsInTheWay(tx, subject, wanted);
  const free = wanted.map(({ host }) => host).filter((host) => !later.some((claim) => haveNamesInCommon(claim.host, host)));
  await replaceClaims(tx, subject, [...(await hostsOf(tx, subject)), ...free]);
}

/** Only one transaction at a time claims hosts; otherwise two that want several of the same names could wait for each other for ever. */
export const lockHosts = (tx: Tx) => sql`select pg_advisory_xact_lock(hashtextextended('hosts', 0))`.execute(tx);

async function hostsOf(tx: Tx, { project_id, environment_id }: Claimant): Promise<string[]> {
  const rows = await tx
    .selectFrom('hosts')
    .select('host')
    .where('project_id', '=', project_id)
    .where('environment_id', '=', environment_id)
    .execute();
  return rows.map(({ host }) => host);
}

/** Hosts that the environment keeps also keep their claims, with the same numbers. */
async function replaceClaims(tx: Tx, { project_id, environment_id }: Claimant, hosts: readonly string[]): Promise<void> {
  const wanted = withoutCovered(hosts);
  await sql`delete from hosts
    where project_id = ${project_id} and environment_id = ${environment_id} and host <> all(${wanted}::text[])`.execute(tx);
  const claiming = sql`insert into hosts (host, project_id, environment_id)
    select host, ${project_id}, ${environment_id} from unnest(${wanted}::text[]) as wanted (host)
    where not exists (select from hosts where hosts.host = wanted.host and project_id = ${project_id} and environment_id = ${environment_id})
    order by host`.execute(tx);
  const taken = 'Another project has just claimed a host of the routes; deploy again to see which.';
  await orConflict(claiming, { hosts_pkey: taken, hosts_one_owner: taken });
  await nudge(tx, keepCertificates);
}

/** Once the stack is what the environment runs, the environment has the hosts of its routes and no others. */
export async function settleHosts(
  tx: Tx,
  { project, environment, routes }: Pick<Stack, 'project' | 'environment' | 'routes'>,
): Promise<void> {
  const claimant = { project_id: project.id, environment_id: environment.id };
  await lockHosts(tx);
  const wanted = wantedHosts(routes);
  const given = (await claimsInTheWay(tx, claimant, wanted)).filter((claim) => isGivenUp(claim, claimant));
  await sql`delete from hosts where project_id = ${project.id} and host = any(${given.map(({ host }) => host)}::text[])`.execute(tx);
  await replaceClaims(
    tx,
    claimant,
    wanted.map(({ host }) => host),
  );
}

/** After a deployment is taken back, the environment has the hosts of what it runs, if it runs anything. */
export async function giveBackHosts(db: Db, projectId: string, environmentId: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockHosts(tx);
    const { rows } = await sql<{ routes: Stack['routes'] }>`
      select routes from deployments
      where project_id = ${projectId} and environment_id = ${environmentId} and ${deploymentLife.sqlPossible('status', 'run')}`.execute(tx);
    const had = new Set(await hostsOf(tx, { project_id: projectId, environment_id: environmentId }));
    const runs = rows.flatMap(({ routes }) => wantedHosts(routes)).map(({ host }) => host);
    // A host that another environment had all the time is not given to this one.
    const kept = runs.filter((host) => [...had].some((claimed) => covers(claimed, host)));
    await replaceClaims(tx, { project_id: projectId, environment_id: environmentId }, kept);
  });
}

/** Gives up all hosts of the environment; anybody may claim them from now on. */
export async function releaseHosts(tx: Tx, projectId: string, environmentId: string): Promise<void> {
  await sql`delete from hosts where project_id = ${projectId} and environment_id = ${environmentId}`.execute(tx);
  await nudge(tx, keepCertificates);
}
