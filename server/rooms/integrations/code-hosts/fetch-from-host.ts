/**
 * One look at a code host: what it said that there is to see is asked for, its commits are fetched, and what follows for the environments is done one step after the
 * other. The news that led to it is crossed out last, so whatever goes wrong before is looked at again.
 */
import type { GitAccess } from '../../../drivers/code-hosts/code-host.ts';
import { isFailure } from '../../../drivers/code-hosts/code-host-failure.ts';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { codeSourceOf } from '../../environments/public.ts';
import { projectById } from '../../projects/public.ts';
import { opened } from '../integration.ts';
import { integrationsOf, takeIntegrations } from '../queries.ts';
import { applyPlan, headsOf } from './apply-plan.ts';
import { codeHostOf } from './code-host-of.ts';
import { followDefaultBranch } from './follow-default-branch.ts';
import {
  forgetPullRequest,
  leaveAloneUntil,
  lookAgainIn,
  markReplaced,
  mirrorRow,
  rememberPullRequest,
  rememberPullRequests,
  rememberRepository,
  type Mirror,
} from './mirror.ts';
import { knownBranches, mirroredHeads, planFor, rulesOf } from './mirror-plan.ts';
import { isElsewhere } from './validate.ts';
import { crossOutNews, isAboutEverything, newsOf, type News } from './news.ts';

/** How soon the host is looked at again where something was not ready, and for how long. */
const retrySeconds = 10;
const retriedSecondsMax = 180;

export async function fetchFromHost(work: Work<{ integration: string }>, platform: Platform): Promise<void> {
  const { step, record, log, input } = work;
  const { db, git } = platform;
  const mirror = await mirrorOf(platform, work);
  if (!mirror)
    return log('Nothing is fetched: the integration is gone, the project is not active, or its code comes from another integration');
  const { integration, project } = mirror;
  const { quiet_until } = mirror.row;
  if (quiet_until !== null && Date.parse(quiet_until) > Date.now())
    return log(`Nothing is fetched now: the host takes no requests until ${quiet_until}; what is new there is fetched then`);
  const { fetchBranches, pruneBranches } = rulesOf(integration, project.default_branch);
  const news = await step('read news', () => newsOf(db, input.integration));
  log(`Fetching from ${mirror.row.repository_url ?? 'the code host'}`);
  await step('fetch', (signal) =>
    asking(work, platform, mirror, async () => {
      // First of all, so that nothing is read of a repository that took over the name.
      const from = await mirror.host.gitAccess();
      await together([learn(platform, mirror, news), ...(fetchBranches ? [fetchRefs(platform, mirror, from, pruneBranches, signal)] : [])]);
    }),
  );
  if (fetchBranches) await followDefaultBranch(work, platform, mirror);
  const current = (await projectById(db, project.id)) ?? project;
  const plan = await step('plan, with heads', async () => {
    const known = await knownBranches(platform, project.id);
    const steps = await planFor(platform, integration, current, known);
    return { steps, heads: headsOf(steps, known.own) };
  });
  const isComplete = await asking(work, platform, mirror, () => applyPlan(work, platform, { ...mirror, project: current }, plan));
  await record('cross out news', async (tx) => {
    const isRecent = news.some(({ noted_at }) => Date.now() - Date.parse(noted_at) < retriedSecondsMax * 1000);
    if (!isComplete && isRecent) await lookAgainIn(tx, integration.id, retrySeconds);
    else await crossOutNews(tx, integration.id, news);
  });
  git.tidy(project.id);
}

async function mirrorOf(
  platform: Platform,
  { activity: { project_id }, input }: Work<{ integration: string }>,
): Promise<Mirror | undefined> {
  const { db, secrets } = platform;
  const [found] = await integrationsOf(db, project_id, input.integration);
  const [row, project, source] = [
    await mirrorRow(db, input.integration),
    await projectById(db, project_id),
    await codeSourceOf(db, project_id),
  ];
  if (!found || !row || project?.status !== 'active' || source?.integration_id !== found.id) return undefined;
  const integration = opened(secrets, found);
  return { integration, project, row, host: codeHostOf(platform, integration, row.repository_id ?? undefined) };
}

/** Both are over when it returns; where several fail, the first of the list is told, which is the one that the host has words for. */
async function together(all: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(all)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Tags of people's own stay where branches are not pruned. */
async function fetchRefs(
  { git }: Platform,
  { project }: Mirror,
  from: GitAccess,
  pruneBranches: boolean,
  signal: AbortSignal,
): Promise<void> {
  const [heads, tags] = [`+refs/heads/*:${mirroredHeads}*`, '+refs/tags/*:refs/tags/*'];
  await git.fetchMirror(project.id, { from, what: pruneBranches ? [heads, tags] : [heads], prunes: true, signal });
  if (!pruneBranches) await git.fetchMirror(project.id, { from, what: [tags], prunes: false, signal });
}

/** Asks as little as the news allows: hosts count how often they are asked. */
async function learn({ db, secrets }: Platform, { integration, project, host, row }: Mirror, news: readonly News[]): Promise<void> {
  const { id } = integration;
  const { buildPullRequests } = rulesOf(integration, project.default_branch);
  const isWhole = row.repository_id === null || news.length === 0 || news.some(isAboutEverything);
  if (isWhole) {
    const { repository } = await host.verify();
    const listed = buildPullRequests ? await host.pullRequests() : { open: [], isWhole: true };
    await db.transaction().execute(async (tx) => {
      await takeIntegrations(tx, project.id);
      const [now] = await integrationsOf(tx, project.id, id);
      // What the former repository told says nothing of the new one.
      if (!now || isElsewhere(now.type, integration.values, opened(secrets, now).values))
        throw new Error('Another repository was given while the former one was asked; the new one is asked next');
      await rememberRepository(tx, id, repository);
      await rememberPullRequests(tx, id, listed);
    });
    return;
  }
  const numbers = news.flatMap(({ pull_request }) => (pull_request === null || !buildPullRequests ? [] : [pull_request]));
  for (const number of numbers) {
    const found = await host.pullRequest(number);
    await db
      .transaction()
      .execute((tx) => (found ? rememberPullRequest(tx, id, found) : forgetPullRequest(tx, id, number)).then(() => undefined));
  }
}

/** Fewer than activities have for what goes wrong in the platform, so that the last failure is told in its own words. */
const attemptsMax = 4;
const restSeconds = 300;

/** Whatever the host answers becomes a sentence in the log; one that is away is asked again, and one that wants to be left alone is, until then. */
async function asking<T>(
  { activity: { attempts } }: Work<unknown>,
  { db }: Platform,
  { integration }: Mirror,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (failure) {
    const isPassing = isFailure(failure, 'unavailable') || (failure instanceof Problem && failure.kind === 'unavailable');
    if (isPassing && attempts + 1 < attemptsMax) throw new Error((failure as Error).message, { cause: failure });
    const retryAt = isFailure(failure, 'rate-limited') ? failure.retryAt : undefined;
    if (retryAt) await leaveAloneUntil(db, integration.id, retryAt);
    else await lookAgainIn(db, integration.id, restSeconds);
    if (isFailure(failure, 'replaced')) await markReplaced(db, integration.id);
    if (isFailure(failure, 'credential', 'permission', 'missing', 'replaced', 'rate-limited', 'unavailable', 'refused'))
      throw new Problem('unavailable', failure.message, { cause: failure });
    throw failure;
  }
}
