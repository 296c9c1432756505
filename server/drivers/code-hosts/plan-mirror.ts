/**
 * Which environments a project has because of its code host: a pure function of what is known of the host, of the integration's rules and of the environments
 * that are there. Deliveries change what is known bit by bit, a listing replaces all of it; what is done then is the same, so a missed delivery is healed by
 * the next listing.
 *
 * A pull request from a fork has no environment until somebody approves it, and then only at the commit that was approved: what its author pushes later
 * would otherwise run with secrets and data that nobody meant to give to it.
 */
import type { HostEvent, PullRequest, Ref } from './code-host.ts';

/** What is known of the host. */
export interface HostView {
  /** Commits by branch. */
  branches: ReadonlyMap<string, string>;
  /** The open ones, by number. */
  pullRequests: ReadonlyMap<number, PullRequest>;
}

export interface MirrorRules {
  /** Whose environment is production; it is never removed. */
  defaultBranch: string;
  fetchBranches: boolean;
  /** Heeded only where branches are fetched. */
  pruneBranches: boolean;
  buildPullRequests: boolean;
  buildDrafts: boolean;
  /** Builds what merging would make, where the host keeps that. */
  buildPostMerge: boolean;
  cloneParentData: boolean;
  /** Clones the parent's data again with each build. */
  resyncData: boolean;
}

/** An environment as far as mirroring goes. */
export interface MirroredEnvironment {
  name: string;
  origin: 'branch' | 'pull-request';
  /** Null for production alone. */
  parent: string | null;
  /** What it was built of: a commit, or two where a merge is built. */
  revision: string;
}

export type MirrorStep =
  /** A branch begins inactive. A pull request begins active; `ref` is where Git finds it, in our repository unless another is named. */
  | { kind: 'create'; environment: MirroredEnvironment; pullRequest?: PullRequestBuild; clonesData: boolean }
  | { kind: 'update'; name: string; revision: string; pullRequest?: PullRequestBuild; resyncsData: boolean }
  | { kind: 'reparent'; name: string; parent: string }
  | { kind: 'delete'; name: string }
  /** Nothing is built until somebody approves this commit. */
  | { kind: 'ask-approval'; number: number; commit: string };

export interface PullRequestBuild {
  number: number;
  ref: string;
  repository?: string;
  /** Must be what the ref leads to, or its second parent where a merge is built. */
  commit: string;
  /** The head of the target, where a merge is built and it is known: the first parent. */
  onto?: string;
}

/** Which commit of a fork's pull request somebody approved, by number: its whole id, also where the host tells only how it begins. */
export type Approvals = ReadonlyMap<number, string>;

/** Whether what was approved is what the host says is the head now. A fork that was deleted has none. */
export const isApproved = (approved: string | null | undefined, head: string): boolean =>
  head !== '' && approved?.startsWith(head) === true;

export const environmentNameOf = (number: number) => `pr-${number}`;

export const viewOf = (branches: readonly Ref[], pullRequests: readonly PullRequest[]): HostView => ({
  branches: new Map(branches.map(({ name, commit }) => [name, commit])),
  pullRequests: new Map(pullRequests.map((each) => [each.number, each])),
});

/** Undefined where the event tells too little, and everything has to be listed. */
export function viewAfter(view: HostView, event: HostEvent): HostView | undefined {
  switch (event.kind) {
    case 'branch-pushed':
      return { ...view, branches: new Map(view.branches).set(event.branch, event.commit) };
    case 'branch-deleted':
      return { ...view, branches: without(view.branches, event.branch) };
    case 'pull-request': {
      const { pullRequest } = event;
      const { number, state } = pullRequest;
      const pullRequests = state === 'open' ? new Map(view.pullRequests).set(number, pullRequest) : without(view.pullRequests, number);
      return { ...view, pullRequests };
    }
    case 'tag-pushed':
    case 'tag-deleted':
    case 'repository-renamed':
      return view;
    // Whoever deleted the repository may have done so by mistake: environments stay until somebody removes them.
    case 'repository-deleted':
      return view;
    case 'look-at-everything':
      return undefined;
  }
}

/** In an order in which every parent is there as long as it has children. */
export function planMirror(
  environments: readonly MirroredEnvironment[],
  view: HostView,
  rules: MirrorRules,
  approvals: Approvals,
): MirrorStep[] {
  const builds = buildsOf(view, rules, approvals);
  const branches = wantedBranches(environments, view, rules, builds);
  const pullRequests = [...builds.values()].map((build) => pullRequestEnvironment(build, view, rules, branches));
  const wanted = new Map([...branches.values(), ...pullRequests].map((each) => [each.name, each]));
  const isKept = ({ name, origin }: MirroredEnvironment) => wanted.get(name)?.origin === origin;
  const current = new Map(environments.filter(isKept).map((each) => [each.name, each]));
  const creating = (all: Iterable<MirroredEnvironment>) =>
    [...all].filter(({ name }) => !current.has(name)).map((each) => creation(each, rules, builds.get(each.name)?.build));
  return [
    ...creating(branches.values()),
    ...[...current.values()].toSorted(branchesFirst).flatMap((each) => reparenting(each, wanted.get(each.name))),
    ...environments
      .filter((each) => !isKept(each))
      .toSorted(deepestFirst(environments))
      .map(({ name }): MirrorStep => ({ kind: 'delete', name })),
    ...creating(pullRequests),
    ...[...current.values()].flatMap((each) => updating(each, wanted.get(each.name), rules, builds.get(each.name)?.build)),
    ...waitingFor(view, rules, approvals),
  ];
}

/** A branch may have to leave a pull request before that can be below it. */
const branchesFirst = (one: MirroredEnvironment, other: MirroredEnvironment) => one.origin.localeCompare(other.origin);

/** Whatever was branched from what: nothing is deleted while something that is to be deleted, too, is below it. */
function deepestFirst(environments: readonly MirroredEnvironment[]) {
  const parents = parentsOf(environments);
  const depths = new Map(environments.map(({ name }) => [name, lineAbove(name, parents).length]));
  return (one: MirroredEnvironment, other: MirroredEnvironment) => (depths.get(other.name) ?? 0) - (depths.get(one.name) ?? 0);
}

type Parents = ReadonlyMap<string, string | null>;

const parentsOf = (environments: readonly MirroredEnvironment[]): Parents =>
  new Map(environments.map(({ name, parent }) => [name, parent]));

/** From its parent to the root. */
function lineAbove(name: string, parents: Parents): string[] {
  const line: string[] = [];
  for (let above = parents.get(name); typeof above === 'string' && !line.includes(above); above = parents.get(above)) line.push(above);
  return line;
}

interface WantedBuild {
  pullRequest: PullRequest;
  build: PullRequestBuild;
}

const isWanted = (rules: MirrorRules, { isDraft }: PullRequest) => rules.buildPullRequests && (rules.buildDrafts || !isDraft);
const commitOf = ({ isFromFork, number, commit }: PullRequest, approvals: Approvals) => (isFromFork ? approvals.get(number) : commit);

/** By the name of the environment. */
function buildsOf({ pullRequests, branches }: HostView, rules: MirrorRules, approvals: Approvals): Map<string, WantedBuild> {
  const wanted = [...pullRequests.values()].filter((each) => isWanted(rules, each)).toSorted((one, other) => one.number - other.number);
  return new Map(
    wanted.flatMap((pullRequest) => {
      const { number, source, targetBranch } = pullRequest;
      const commit = commitOf(pullRequest, approvals);
      if (commit === undefined) return [];
      const merge = rules.buildPostMerge ? source.merge : undefined;
      const onto = merge === undefined ? undefined : branches.get(targetBranch);
      const from = source.repository === undefined ? {} : { repository: source.repository };
      const build = { number, ref: merge ?? source.head, commit, ...from, ...(onto !== undefined && { onto }) };
      return [[environmentNameOf(number), { pullRequest, build }] as const];
    }),
  );
}

const waitingFor = ({ pullRequests }: HostView, rules: MirrorRules, approvals: Approvals): MirrorStep[] =>
  [...pullRequests.values()]
    .filter((each) => each.isFromFork && isWanted(rules, each) && !isApproved(approvals.get(each.number), each.commit))
    .toSorted((one, other) => one.number - other.number)
    .map(({ number, commit }) => ({ kind: 'ask-approval', number, commit }));

/** Names that belong to pull requests: a branch of the host that is called so is not mirrored. */
const reservedName = /^pr-\d+$/;

/** People may move a branch below another one, or below a pull request; where that is gone, the branch goes back. */
function wantedBranches(
  environments: readonly MirroredEnvironment[],
  { branches }: HostView,
  { defaultBranch, fetchBranches, pruneBranches }: MirrorRules,
  builds: ReadonlyMap<string, WantedBuild>,
): Map<string, MirroredEnvironment> {
  const isPruned = (name: string) => fetchBranches && pruneBranches && name !== defaultBranch;
  const kept = environments.filter(({ name, origin }) => origin === 'branch' && !builds.has(name) && !isPruned(name));
  const mirrored = [...(fetchBranches ? branches : [])]
    .filter(([name]) => !reservedName.test(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, revision]): MirroredEnvironment => ({
      name,
      origin: 'branch',
      parent: name === defaultBranch ? null : defaultBranch,
      revision,
    }));
  const wanted = new Map([...kept, ...mirrored].map((each) => [each.name, each]));
  const parents = parentsOf(environments.filter(({ origin }) => origin === 'branch'));
  const mayStayBelow = (name: string, given: string): boolean => {
    const target = builds.get(given)?.pullRequest.targetBranch;
    // Below a pull request that leads to it, or to what is below it, a branch would be above itself.
    return wanted.has(given) || (target !== undefined && target !== name && !lineAbove(target, parents).includes(name));
  };
  const parentOf = (name: string): string | null => {
    if (name === defaultBranch) return null;
    const given = parents.get(name);
    return typeof given === 'string' && mayStayBelow(name, given) ? given : defaultBranch;
  };
  return new Map([...wanted].map(([name, each]) => [name, { ...each, parent: parentOf(name) }]));
}

function pullRequestEnvironment(
  { pullRequest: { targetBranch, source }, build }: WantedBuild,
  { branches: known }: HostView,
  rules: MirrorRules,
  branches: ReadonlyMap<string, unknown>,
): MirroredEnvironment {
  const isMerge = rules.buildPostMerge && source.merge !== undefined;
  return {
    name: environmentNameOf(build.number),
    origin: 'pull-request',
    parent: branches.has(targetBranch) ? targetBranch : rules.defaultBranch,
    revision: isMerge ? `${build.commit} into ${known.get(targetBranch) ?? 'nothing'}` : build.commit,
  };
}

const creation = (environment: MirroredEnvironment, { cloneParentData }: MirrorRules, build: PullRequestBuild | undefined): MirrorStep => ({
  kind: 'create',
  environment,
  ...(build && { pullRequest: build }),
  clonesData: build !== undefined && cloneParentData,
});

const reparenting = ({ name, parent }: MirroredEnvironment, wanted: MirroredEnvironment | undefined): MirrorStep[] =>
  typeof wanted?.parent === 'string' && wanted.parent !== parent ? [{ kind: 'reparent', name, parent: wanted.parent }] : [];

const updating = (
  { name, revision: built }: MirroredEnvironment,
  wanted: MirroredEnvironment | undefined,
  { resyncData }: MirrorRules,
  build: PullRequestBuild | undefined,
): MirrorStep[] =>
  !wanted || wanted.revision === built
    ? []
    : [
        {
          kind: 'update',
          name,
          revision: wanted.revision,
          ...(build && { pullRequest: build }),
          resyncsData: build !== undefined && resyncData,
        },
      ];

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): Map<K, V> => new Map([...map].filter(([each]) => each !== key));
