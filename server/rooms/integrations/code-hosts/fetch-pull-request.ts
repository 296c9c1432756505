/** The commit that the environment of a pull request is to have, fetched. What was approved of a fork is what comes, and nothing that was pushed there later. */
import type { PullRequest } from '../../../drivers/code-hosts/code-host.ts';
import type { PullRequestBuild } from '../../../drivers/code-hosts/plan-mirror.ts';
import type { RemoteRepository } from '../../../drivers/git/git.ts';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import type { Mirror } from './mirror.ts';
import { mirroredPulls } from './mirror-plan.ts';

/** Nothing that could be read as another ref, or as several. */
const refPattern = /^refs\/[^\s:+^~?*[\\]+$/;
const wholeId = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** Null where the host does not have it yet, or not any more. */
export async function fetchPullRequest(
  { log }: Pick<Work<unknown>, 'log'>,
  { git }: Platform,
  { host, project }: Mirror,
  { number, ref, repository, commit: wanted, onto }: PullRequestBuild,
  { isFromFork, source }: PullRequest,
  signal: AbortSignal,
): Promise<string | null> {
  if (!refPattern.test(ref))
    throw new Problem('unavailable', `The host names ${JSON.stringify(ref)} as what pull request ${number} is in.`);
  const into = `${mirroredPulls}${number}`;
  const from = sourceOf(await host.gitAccess(), repository);
  try {
    await git.fetchMirror(project.id, { from, what: [`+${ref}:${into}`], prunes: false, signal });
  } catch (error) {
    if (!(error instanceof Problem && error.kind === 'not-found')) throw error;
    log(`W: Pull request ${number}: ${error.message}`);
    return null;
  }
  const fetched = (await git.refsUnder(project.id, into)).find(({ name }) => name === into)?.sha;
  if (fetched === undefined) return null;
  if (ref === source.merge) return mergeOf(fetched);
  if (fetched.startsWith(wanted) || !isFromFork) return fetched;
  if (wholeId.test(wanted) && (await git.commit(project.id, wanted)) && (await git.isAncestor(project.id, wanted, fetched))) return wanted;
  log(`W: Pull request ${number}: the approved commit ${wanted} is not part of it any more`);
  return null;

  /**
   * Every host merges the request into its target, so the target is the first parent and the request the second. Each is held to its own place: a fork's request may be
   * led to a branch that has just the approved commit, and the merge there would contain what nobody approved.
   *
   * Hosts make the merge a while after its parts, some of them not before they are asked for the pull request.
   */
  async function mergeOf(merge: string): Promise<string | null> {
    const [target = '', request = '', ...others] = (await git.commit(project.id, merge))?.parents ?? [];
    const isOnto = onto === undefined || target === onto;
    if (isOnto && request.startsWith(wanted) && others.length === 0) return merge;
    log(`Pull request ${number}: the host has not merged ${wanted} into ${onto ?? 'its target'} yet`);
    await host.pullRequest(number);
    return null;
  }
}

/** The credential is for the host's own repository: another host is asked without it. */
function sourceOf(own: RemoteRepository, repository: string | undefined): RemoteRepository {
  if (repository === undefined) return own;
  return URL.parse(repository)?.origin === new URL(own.url).origin ? { ...own, url: repository } : { url: repository };
}
