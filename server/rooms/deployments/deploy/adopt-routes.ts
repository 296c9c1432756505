/**
 * Before anything is served, the routes of what runs are resolved anew where the operator has changed how environments are reached: TLS, ports, the domain. No
 * container is touched; apps are told of it by their next deployment. Where nothing has changed, which is with nearly every start, it costs one query.
 */
import { sql } from 'kysely';
import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { deploymentLife } from '../life-cycle.ts';
import { deployedById } from '../queries.ts';
import { settleHosts } from './claim-hosts.ts';
import { resolveAgain, routesNow } from './refresh-routes.ts';

/** Returns how many environments are reached otherwise now. */
export async function adoptRoutes(platform: Platform): Promise<number> {
  const { db, config } = platform;
  const settings = JSON.stringify([config.tls, config.edge.port, config.edge.httpsPort, config.domain]);
  const known = await db.selectFrom('installation').select('routed_for').executeTakeFirst();
  if (known?.routed_for === settings) return 0;
  let adopted = 0;
  for (const { project_id, environment_id } of await runningEnvironments(platform))
    if (await adoptOne(platform, project_id, environment_id)) adopted += 1;
  await db.updateTable('installation').set({ routed_for: settings }).execute();
  return adopted;
}

async function runningEnvironments({ db }: Platform) {
  const { rows } = await sql<{ project_id: string; environment_id: string }>`
    select project_id, environment_id from deployments where ${deploymentLife.sqlPossible('status', 'run')}`.execute(db);
  return rows;
}

/** One whose hosts cannot be had is left as it is, and is not in the way of the others. */
async function adoptOne(platform: Platform, projectId: string, environment: string): Promise<boolean> {
  try {
    return await platform.db.transaction().execute((tx) => resolveAndSettle(tx, platform, projectId, environment));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    platform.log.warn(
      { project: projectId, environment, error },
      'the routes of an environment stay as they were until its next deployment',
    );
    return false;
  }
}

/** Where the addresses come out the same, nothing is touched. */
async function resolveAndSettle(tx: Tx, platform: Platform, projectId: string, environment: string): Promise<boolean> {
  const now = await routesNow(tx, platform, projectId, environment, 'left staged');
  if (!now || isDeepStrictEqual(Object.keys(now.routes), Object.keys(now.stack.routes))) return false;
  const resolved = await resolveAgain(tx, platform, projectId, environment, 'left staged');
  const deployed = resolved && (await deployedById(tx, platform.secrets, resolved.deployment));
  if (!deployed) return false;
  await settleHosts(tx, deployed.stack);
  return true;
}
