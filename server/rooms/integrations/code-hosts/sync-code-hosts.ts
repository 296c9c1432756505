/**
 * Heals what webhooks missed: every few minutes each code host is asked for its branches and open pull requests, and where they are others than those that are
 * known, they are fetched. A host that is away delays nobody else, and one that wants to be left alone is.
 */
import { sql } from 'kysely';
import { isFailure } from '../../../drivers/code-hosts/code-host-failure.ts';
import type { CodeHost, GitAccess, OpenPullRequests, PullRequest } from '../../../drivers/code-hosts/code-host.ts';
import { limit } from '../../../kernel/limits.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { codeSourceOf } from '../../environments/public.ts';
import { projectById, type Project } from '../../projects/public.ts';
import { opened, type Integration } from '../integration.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import { codeHostOf, isCodeHost } from './code-host-of.ts';
import { startFetch } from './fetch-activities.ts';
import { leaveAloneUntil, lookAgainIn, lookPeriodSeconds, mirrorRow, pullRequestsOf, type MirrorRow } from './mirror.ts';
import { fetchedBranches, knownBranches, planFor, rulesOf } from './mirror-plan.ts';
import { everything, newsOf, noteNews } from './news.ts';

const atOnceMax = 8;
const dueMax = 200;

/** Not all of them at the same moment. */
const nextLookSeconds = () => lookPeriodSeconds * (0.8 + 0.4 * Math.random());

export const syncCodeHosts: Reconciler = {
  name: 'sync code hosts',
  everySeconds: 15,
  isSlow: true,
  run: async (platform, signal) => {
    const within = limit(atOnceMax);
    await Promise.all((await dueIntegrations(platform.db)).map((row) => within(() => syncOrLater(platform, row, signal))));
  },
};

/** A new integration does not wait for its turn. What is not ready for it yet, such as a project that is still being made, is looked at by the turns. */
export async function fetchAtOnce(tx: Tx, integration: Pick<Integration, 'id' | 'project_id' | 'type'>): Promise<void> {
  const { id, project_id, type } = integration;
  const [project, source] = [await projectById(tx, project_id), await codeSourceOf(tx, project_id)];
  if (!isCodeHost(type) || project?.status !== 'active' || source?.integration_id !== id) return;
  await noteNews(tx, id, [everything]);
  await startFetch(tx, integration);
  await lookAgainIn(tx, id, nextLookSeconds());
}

async function dueIntegrations(db: Db): Promise<StoredIntegration[]> {
  const { rows } = await sql<StoredIntegration>`
    select integrations.*, projects.organization_id
    from code_mirrors join integrations on integrations.id = code_mirrors.integration_id
    join projects on projects.id = integrations.project_id and projects.status = 'active'
    where code_mirrors.sync_at <= clock_timestamp() and coalesce(code_mirrors.quiet_until <= clock_timestamp(), true) order by code_mirrors.sync_at limit ${dueMax}`.execute(
    db,
  );
  return rows;
}

async function syncOrLater(platform: Platform, row: StoredIntegration, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  // First of all, so that a host that cannot be asked is left alone for as long as others.
  await lookAgainIn(platform.db, row.id, nextLookSeconds());
  try {
    await sync(platform, row, signal);
  } catch (failure) {
    if (signal.aborted) return;
    const retryAt = isFailure(failure, 'rate-limited') ? failure.retryAt : undefined;
    if (retryAt) await leaveAloneUntil(platform.db, row.id, retryAt);
    else if (!(failure instanceof Problem) && !isFailure(failure, 'credential', 'permission', 'missing', 'unavailable', 'refused'))
      throw failure;
    platform.log.info({ integration: row.id, failure: (failure as Error).message }, 'a code host could not be looked at');
  }
}

async function sync(platform: Platform, row: StoredIntegration, signal: AbortSignal): Promise<void> {
  const { db, secrets, git } = platform;
  const project = await projectById(db, row.project_id);
  const isOurs = (await codeSourceOf(db, row.project_id))?.integration_id === row.id;
  if (!project || !isOurs || !(await git.exists(project.id))) return;
  const known = await mirrorRow(db, row.id);
  const hasNews = (await newsOf(db, row.id)).length > 0;
  const isBehind = (hasNews && !known?.is_replaced) || (await isOutdated(platform, opened(secrets, row), project, known, signal));
  if (!isBehind) return;
  await db.transaction().execute(async (tx) => {
    if (!hasNews) await noteNews(tx, row.id, [everything]);
    await startFetch(tx, row);
  });
}

async function isOutdated(
  platform: Platform,
  integration: Integration,
  project: Project,
  known: MirrorRow | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (known?.repository_id == null) return true;
  const host = codeHostOf(platform, integration, known.repository_id);
  const from = await accessTo(host);
  // The fetch that finds out first tells people, and they are not told again every few minutes.
  if (!from) return !known.is_replaced;
  if (known.is_replaced) return true;
  const { fetchBranches, pruneBranches, buildPullRequests } = rulesOf(integration, project.default_branch);
  if (fetchBranches) {
    const refs = await platform.git.remoteRefs(project.id, from, signal);
    if (!(await areFetched(platform, project.id, refs, pruneBranches))) return true;
  }
  if (buildPullRequests && !areSame(await host.pullRequests(), await pullRequestsOf(platform.db, integration.id))) return true;
  const plan = await planFor(platform, integration, project, await knownBranches(platform, project.id));
  return plan.some(({ kind }) => kind !== 'ask-approval');
}

/** Undefined where another repository has taken over the name. */
async function accessTo(host: CodeHost): Promise<GitAccess | undefined> {
  try {
    return await host.gitAccess();
  } catch (failure) {
    if (isFailure(failure, 'replaced')) return undefined;
    throw failure;
  }
}

/** Where branches are not pruned, there may be tags here that the host does not have. */
async function areFetched(
  platform: Platform,
  projectId: string,
  refs: ReadonlyMap<string, string>,
  pruneBranches: boolean,
): Promise<boolean> {
  const branches = [...(await fetchedBranches(platform, projectId))].map(([name, sha]) => [`refs/heads/${name}`, sha] as const);
  const tags = (await platform.git.refsUnder(projectId, 'refs/tags/')).map(({ name, sha }) => [name, sha] as const);
  return isSame(refs, new Map([...branches, ...tags.filter(([name]) => pruneBranches || refs.has(name))]));
}

const isSame = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) =>
  one.size === other.size && [...one].every(([name, sha]) => other.get(name) === sha);

const toldOf = ({ number, isDraft, isFromFork, targetBranch, commit }: PullRequest) =>
  JSON.stringify([number, isDraft, isFromFork, targetBranch, commit]);

function areSame({ open, isWhole }: OpenPullRequests, stored: readonly { details: PullRequest }[]): boolean {
  const [listed, known] = [new Set(open.map(toldOf)), new Set(stored.map(({ details }) => toldOf(details)))];
  return [...listed].every((each) => known.has(each)) && (!isWhole || listed.size === known.size);
}
