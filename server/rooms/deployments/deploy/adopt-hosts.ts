/**
 * Before anything is served, the claims are made to fit what the operator has set, and what was deployed before there were claims gets its own: whoever was
 * the first to deploy a host has it. What is deployed stays deployed; the edge leaves out what its environment did not get. Every start asks again, and finds
 * nothing to do.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { lockHosts } from './claim-hosts.ts';
import { covers, generatedHost, hostOf, refusalOf, withoutCovered, type HostConfig } from '../stack/host-names.ts';
import { deploymentLife } from '../life-cycle.ts';

export interface LostHost {
  project: string;
  environment: string;
  host: string;
}

interface Environment {
  project_id: string;
  environment_id: string;
  machine_name: string;
}

interface Wish extends Environment {
  host: string;
  since: string;
}

/** Returns the hosts of deployed routes that their environments did not get, or have lost. */
export const adoptHosts = (db: Db, config: HostConfig): Promise<LostHost[]> =>
  db.transaction().execute(async (tx) => {
    await lockHosts(tx);
    const mayHave = (wish: Omit<Wish, 'since'>) => refusalOf({ host: wish.host, own: generatedHost(wish, config), config }) === undefined;
    const forbidden = (await claimed(tx)).filter((claim) => !mayHave(claim));
    await sql`delete from hosts where host = any(${forbidden.map(({ host }) => host)}::text[])`.execute(tx);
    const wishes = await unclaimed(tx);
    const refused = wishes.filter((wish) => !mayHave(wish));
    const missed = [];
    for (const wish of oldestFirst(wishes.filter(mayHave))) if (!(await claimUnlessTaken(tx, wish))) missed.push(wish);
    return [...forbidden, ...refused, ...missed].map(({ project_id, environment_id, host }) => ({
      project: project_id,
      environment: environment_id,
      host,
    }));
  });

/** The claims of all environments; each has only a few. */
async function claimed(tx: Tx): Promise<Omit<Wish, 'since'>[]> {
  const { rows } = await sql<Omit<Wish, 'since'>>`
    select host, hosts.project_id, environment_id, machine_name
    from hosts join environments on environments.project_id = hosts.project_id and environments.id = hosts.environment_id`.execute(tx);
  return rows;
}

/** The hosts of environments that run something and have no claims, each with the time of its first deployment, as far back as deployments are kept. */
async function unclaimed(tx: Tx): Promise<Wish[]> {
  const { rows } = await sql<Environment & { url: string; since: string }>`
    select deployments.project_id, environment_id, machine_name, url, min(deployments.created_at) as since
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = environment_id,
      json_object_keys(routes) as url
    where ${deploymentLife.sqlPossible('deployments.status', 'show')} and not exists (select from hosts
      where hosts.project_id = deployments.project_id and hosts.environment_id = deployments.environment_id)
    group by deployments.project_id, environment_id, machine_name, url
    having bool_or(${deploymentLife.sqlPossible('deployments.status', 'run')})`.execute(tx);
  return rows.map(({ url, ...wish }) => ({ ...wish, host: hostOf(url) ?? '' }));
}

/** Each host of an environment once, oldest first; a wildcard replaces the hosts that it covers. */
function oldestFirst(wishes: readonly Wish[]): Wish[] {
  const byEnvironment = Map.groupBy(wishes, ({ project_id, environment_id }) => `${project_id} ${environment_id}`);
  const each = [...byEnvironment.values()].flatMap((its) =>
    withoutCovered(its.map(({ host }) => host)).flatMap((host) => {
      const [oldest] = its.filter((wish) => covers(host, wish.host)).toSorted(byAge);
      return oldest ? [{ ...oldest, host }] : [];
    }),
  );
  return each.toSorted(byAge);
}

const byAge = (a: Wish, b: Wish) => compare(a.since, b.since) || compare(a.project_id, b.project_id) || compare(a.host, b.host);
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

async function claimUnlessTaken(tx: Tx, { host, project_id, environment_id }: Wish): Promise<boolean> {
  const { rows } = await sql`
    insert into hosts (host, project_id, environment_id) select ${host}, ${project_id}, ${environment_id}
    where not exists (select from hosts where names_of(hosts.host) && names_of(${host})) returning host`.execute(tx);
  return rows.length > 0;
}
