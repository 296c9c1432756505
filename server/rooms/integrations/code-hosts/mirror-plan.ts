/** What follows for the project's environments from what is known of its code host. */
import type { MirroredEnvironment, MirrorRules, MirrorStep } from '../../../drivers/code-hosts/plan-mirror.ts';
import { environmentNameOf, planMirror } from '../../../drivers/code-hosts/plan-mirror.ts';
import type { Ref } from '../../../drivers/git/git.ts';
import type { Platform } from '../../../platform.ts';
import { environmentsOf, type Environment } from '../../environments/public.ts';
import type { Project } from '../../projects/public.ts';
import type { Integration } from '../integration.ts';
import type { Values } from '../types/field.ts';
import { approvalsIn, pullRequestsOf, type StoredPullRequest } from './mirror.ts';

export const mirroredHeads = 'refs/mirror/heads/';
export const mirroredPulls = 'refs/mirror/pulls/';

const flag = (values: Values, ...names: readonly string[]): boolean | undefined =>
  names.map((name) => values[name]).find((value): value is boolean => typeof value === 'boolean');

/** Hosts have names of their own for the same rules. */
export const rulesOf = ({ values }: Pick<Integration, 'values'>, defaultBranch: string): MirrorRules => ({
  defaultBranch,
  fetchBranches: flag(values, 'fetch_branches') ?? true,
  pruneBranches: flag(values, 'prune_branches') ?? true,
  buildPullRequests: flag(values, 'build_pull_requests', 'build_merge_requests') ?? true,
  buildDrafts: flag(values, 'build_draft_pull_requests', 'build_wip_merge_requests') ?? true,
  buildPostMerge: flag(values, 'build_pull_requests_post_merge') ?? false,
  cloneParentData: flag(values, 'pull_requests_clone_parent_data', 'merge_requests_clone_parent_data') ?? true,
  resyncData: flag(values, 'resync_pull_requests') ?? false,
});

const headsPrefix = 'refs/heads/';

export interface KnownBranches {
  /** What was fetched of the host's branches the last time, by name. */
  fetched: ReadonlyMap<string, string>;
  /** The project's own. */
  own: ReadonlyMap<string, string>;
}

/** Asks Git once: with every process less that starts, a fetch is done sooner. */
export async function knownBranches({ git }: Pick<Platform, 'git'>, projectId: string): Promise<KnownBranches> {
  const refs = await git.refsUnder(projectId, mirroredHeads, headsPrefix);
  return { fetched: below(refs, mirroredHeads), own: below(refs, headsPrefix) };
}

export const fetchedBranches = async (platform: Pick<Platform, 'git'>, projectId: string): Promise<ReadonlyMap<string, string>> =>
  (await knownBranches(platform, projectId)).fetched;

const below = (refs: readonly Ref[], prefix: string): Map<string, string> =>
  new Map(refs.flatMap(({ name, sha }) => (name.startsWith(prefix) ? [[name.slice(prefix.length), sha] as const] : [])));

export async function planFor(
  platform: Platform,
  integration: Integration,
  project: Project,
  { fetched }: Pick<KnownBranches, 'fetched'>,
): Promise<MirrorStep[]> {
  const { db, config } = platform;
  const rules = rulesOf(integration, project.default_branch);
  const branches = rules.fetchBranches ? fetched : new Map<string, string>();
  // A repository without branches says nothing about which environments there should be.
  const effective = branches.size === 0 ? { ...rules, pruneBranches: false } : rules;
  const stored = await pullRequestsOf(db, integration.id);
  const environments = await environmentsOf(db, config.domain, project.id);
  const open = stored.filter(({ number }) => isFree(environmentNameOf(number), environments));
  const pullRequests = new Map(open.map(({ number, details }) => [number, details]));
  const known = environments.filter(({ is_pr }) => !is_pr || rules.buildPullRequests).map((each) => mirrored(each, stored));
  return planMirror(known, { branches, pullRequests }, effective, approvalsIn(open));
}

/** Somebody may have an environment that is called like that of a pull request; it is not ours to replace. */
const isFree = (name: string, environments: readonly Environment[]) => environments.every(({ id, is_pr }) => id !== name || is_pr);

const mirrored = ({ id, is_pr, parent, head_commit }: Environment, stored: readonly StoredPullRequest[]): MirroredEnvironment => ({
  name: id,
  origin: is_pr ? 'pull-request' : 'branch',
  parent,
  revision: (is_pr ? stored.find(({ number }) => environmentNameOf(number) === id)?.revision : head_commit) ?? '',
});
