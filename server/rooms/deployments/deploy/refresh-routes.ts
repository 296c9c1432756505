/**
 * The routes of what runs, resolved anew because domains have changed. They are written down with the current deployment and the edge is told; no container
 * is touched. Apps are told of the new routes when they are started the next time by a deployment (`told_routes`).
 *
 * Hosts that are new are claimed before the edge hears of them, and those that are gone are given back after it: until then everything can be taken back.
 */
import { sql } from 'kysely';
import type { EnvironmentState } from '../../../../edge/routing/table.ts';
import type { Work } from '../../../kernel/activity.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { deploymentLife } from '../life-cycle.ts';
import { currentlyDeployed, deployedById, subjectOf } from '../queries.ts';
import { aloneOnStack } from '../running/alone-on-stack.ts';
import { keptStack, type KeptStack } from '../running/kept-stacks.ts';
import { toldRoutes } from '../stack/runtime-variables.ts';
import type { Stack } from '../stack/stack.ts';
import { claimHosts, giveBackHosts, settleHosts } from './claim-hosts.ts';
import { routesOf } from './ongoing-deployment.ts';
import { tellEdge } from './traffic.ts';

type Routed = Pick<Stack, 'routes' | 'domain_names' | 'told_routes'> & { restrict_robots: boolean };

/** The current deployment of an environment, and what its routes were before. */
interface Refreshed {
  environment: string;
  deployment: string;
  before: Routed;
}

/** Of several environments together: all of them, or none. Call it as the last thing of an activity. */
export async function refreshRoutes(work: Work<unknown>, platform: Platform, environments: readonly string[]): Promise<void> {
  const { project_id } = work.activity;
  const refreshed = await work.record(
    'resolve routes',
    async (tx) => {
      const found: Refreshed[] = [];
      for (const environment of environments) {
        const one = await resolveAgain(tx, platform, project_id, environment);
        if (one) found.push(one);
        else work.log(`Environment ${environment} is not active: its domains take effect when it is`);
      }
      return found;
    },
    async (result) => {
      for (const one of result ?? []) await takeBack(platform, project_id, one);
    },
  );
  if (refreshed.length === 0) return;
  await work.step('tell the edge', async () => {
    for (const { environment } of refreshed) {
      for (const line of await tellRoutes(platform, project_id, environment)) work.log(line);
    }
  });
  await work.record('settle hosts', async (tx) => {
    for (const { deployment } of refreshed) {
      const deployed = await deployedById(tx, platform.secrets, deployment);
      if (deployed) await settleHosts(tx, deployed.stack);
    }
  });
}

/** Writes the routes down as they are resolved now, and claims their hosts. Undefined where nothing is deployed. */
export async function resolveAgain(
  tx: Tx,
  platform: Platform,
  projectId: string,
  environment: string,
  staged: Staged = 'released',
): Promise<Refreshed | undefined> {
  const found = await routesNow(tx, platform, projectId, environment, staged);
  if (!found) return undefined;
  const { subject, stack, domain_names, routes } = found;
  const { restrict_robots } = subject;
  await claimHosts(tx, platform.config, subject, routes);
  const kept = await keptStack(tx, projectId, environment);
  await writeRoutes(tx, stack.deployment.id, { ...toldAfter(stack, routes, kept), routes, domain_names, restrict_robots });
  return {
    environment,
    deployment: stack.deployment.id,
    before: {
      routes: stack.routes,
      ...(stack.domain_names && { domain_names: stack.domain_names }),
      ...(stack.told_routes && { told_routes: stack.told_routes }),
      restrict_robots: stack.settings.restrict_robots,
    },
  };
}

/** What becomes of domains that wait for a manual deployment. */
type Staged = 'released' | 'left staged';

/** What the routes of the current deployment are with the domains and settings of now. Undefined where nothing is deployed. */
export async function routesNow(tx: Tx, platform: Platform, projectId: string, environment: string, staged: Staged) {
  const subject = await subjectOf(tx, projectId, environment);
  const current = await currentlyDeployed(tx, platform.secrets, projectId, environment);
  if (!subject || !current) return undefined;
  const { stack } = current;
  const waits = staged === 'left staged' && subject.enable_manual_deployments;
  const domain_names = (waits ? stack.domain_names : undefined) ?? subject.domain_names;
  const { http_access } = stack.settings;
  return { subject, stack, domain_names, routes: routesOf(platform, { ...subject, domain_names, http_access }, stack.model) };
}

/** Whoever runs was told of the routes of then. Where nothing runs, or the same comes out, there is nothing to remember. */
function toldAfter(stack: Stack, routes: Stack['routes'], kept: KeptStack | undefined): Pick<Routed, 'told_routes'> {
  const told = stack.told_routes ?? stack.routes;
  const isStarted = kept !== undefined && environmentLife.possible(kept.status, 'serve') && !kept.is_sleeping;
  const isSame = JSON.stringify(toldRoutes({ routes: told })) === JSON.stringify(toldRoutes({ routes }));
  return isStarted && !isSame ? { told_routes: told } : {};
}

/** Nothing happens to a deployment that is not current any more. */
const writeRoutes = (db: Db | Tx, deployment: string, { routes, domain_names, told_routes, restrict_robots }: Routed) =>
  sql`update deployments set routes = ${JSON.stringify(routes)}::json, told_routes = ${told_routes ? JSON.stringify(told_routes) : null}::json,
      domain_names = ${domain_names ? JSON.stringify(domain_names) : null}::json,
      settings = settings || ${JSON.stringify({ restrict_robots })}::jsonb, updated_at = clock_timestamp()
    where id = ${deployment} and ${deploymentLife.sqlPossible('status', 'run')}`.execute(db);

async function takeBack(platform: Platform, projectId: string, { environment, deployment, before }: Refreshed) {
  await writeRoutes(platform.db, deployment, before);
  await giveBackHosts(platform.db, projectId, environment);
  await tellRoutes(platform, projectId, environment);
}

/** In turn with whoever keeps stacks running, so that nothing older is said after it. Lines for the log: where it is found now. */
async function tellRoutes(platform: Platform, projectId: string, environment: string): Promise<string[]> {
  const { db, secrets } = platform;
  const machine = await platform.machine();
  const stack = (await keptStack(db, projectId, environment))?.stack_id;
  if (!stack) return [];
  return aloneOnStack(machine, stack, async () => {
    const kept = await keptStack(db, projectId, environment);
    const deployed = await currentlyDeployed(db, secrets, projectId, environment);
    if (!kept || !deployed) return [];
    await tellEdge(machine, deployed, stateAtEdge(kept));
    const { routes, told_routes } = deployed.stack;
    const leading = Object.entries(routes).filter(([, { type }]) => type === 'upstream');
    return [
      `Environment ${environment} is found at:`,
      ...leading.map(([url]) => `  ${url}`),
      ...(told_routes ? ['  Its apps keep running, and are told of it (PLATFORM_ROUTES) by the next deployment'] : []),
    ];
  });
}

const stateAtEdge = ({ status, is_sleeping, is_waking }: KeptStack): EnvironmentState =>
  environmentLife.possible(status, 'resume') ? 'paused' : is_sleeping || is_waking ? 'sleeping' : 'open';
