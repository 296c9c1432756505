/** Deliveries one by one and a listing of everything come to the same environments, whatever happens at the host. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HostEvent, PullRequest } from './code-host.ts';
import {
  planMirror,
  viewAfter,
  viewOf,
  type Approvals,
  type HostView,
  type MirroredEnvironment,
  type MirrorRules,
  type MirrorStep,
} from './plan-mirror.ts';

const rules: MirrorRules = {
  defaultBranch: 'main',
  fetchBranches: true,
  pruneBranches: true,
  buildPullRequests: true,
  buildDrafts: true,
  buildPostMerge: false,
  cloneParentData: true,
  resyncData: false,
};
const production: MirroredEnvironment = { name: 'main', origin: 'branch', parent: null, revision: 'm0' };
const nobody: Approvals = new Map();

const pullRequest = (number: number, more: Partial<PullRequest> = {}): PullRequest => ({
  number,
  title: 'x',
  state: 'open',
  isDraft: false,
  isFromFork: false,
  sourceBranch: 'topic',
  targetBranch: 'main',
  commit: 'c1',
  url: 'https://host.example.org/',
  source: { head: `refs/pull/${number}/head`, merge: `refs/pull/${number}/merge` },
  ...more,
});

const view = (branches: Record<string, string>, ...pullRequests: PullRequest[]): HostView =>
  viewOf(
    Object.entries({ main: 'm0', ...branches }).map(([name, commit]) => ({ name, commit })),
    pullRequests,
  );

/** Carries steps out as the platform would, and insists on what the platform insists on. */
function carriedOut(environments: readonly MirroredEnvironment[], steps: readonly MirrorStep[]): MirroredEnvironment[] {
  const all = new Map(environments.map((each) => [each.name, each]));
  const there = (name: string): MirroredEnvironment => {
    const found = all.get(name);
    if (!found) throw new Error(`There is no environment ${name}.`);
    return found;
  };
  for (const step of steps) {
    if (step.kind === 'create') {
      const { environment } = step;
      if (all.has(environment.name)) throw new Error(`There is ${environment.name} already.`);
      if (environment.parent !== null) there(environment.parent);
      all.set(environment.name, environment);
    } else if (step.kind === 'update') all.set(step.name, { ...there(step.name), revision: step.revision });
    else if (step.kind === 'reparent') all.set(step.name, { ...there(step.name), parent: there(step.parent).name });
    else if (step.kind === 'delete') {
      if (there(step.name).parent === null) throw new Error('Production is not deleted.');
      if ([...all.values()].some(({ parent }) => parent === step.name)) throw new Error(`${step.name} has children.`);
      all.delete(step.name);
    }
  }
  return [...all.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

const kindsOf = (steps: readonly MirrorStep[]) =>
  steps.map((step) => `${step.kind} ${'environment' in step ? step.environment.name : 'name' in step ? step.name : step.number}`);

describe('what is done with environments', () => {
  test('a branch becomes an environment below production, and goes with the branch', () => {
    const [create] = planMirror([production], view({ topic: 't1' }), rules, nobody);
    expect(create).toEqual({
      kind: 'create',
      environment: { name: 'topic', origin: 'branch', parent: 'main', revision: 't1' },
      clonesData: false,
    });
    const topic: MirroredEnvironment = { name: 'topic', origin: 'branch', parent: 'main', revision: 't1' };
    expect(kindsOf(planMirror([production, topic], view({ topic: 't2' }), rules, nobody))).toEqual(['update topic']);
    expect(kindsOf(planMirror([production, topic], view({}), rules, nobody))).toEqual(['delete topic']);
    expect(planMirror([production, topic], view({}), { ...rules, pruneBranches: false }, nobody)).toEqual([]);
    expect(planMirror([production, topic], view({ other: 'o' }), { ...rules, fetchBranches: false }, nobody)).toEqual([]);
  });

  test('production stays, also where the host has lost its branch', () => {
    expect(planMirror([production], { branches: new Map(), pullRequests: new Map() }, rules, nobody)).toEqual([]);
  });

  test('a pull request is below its target, with data, and goes when it is closed', () => {
    const steps = planMirror([production], view({ develop: 'd1' }, pullRequest(7, { targetBranch: 'develop' })), rules, nobody);
    expect(kindsOf(steps)).toEqual(['create develop', 'create pr-7']);
    expect(steps[1]).toMatchObject({
      environment: { parent: 'develop', revision: 'c1' },
      clonesData: true,
      pullRequest: { ref: 'refs/pull/7/head', commit: 'c1' },
    });
    const environments = carriedOut([production], steps);
    const closed = viewAfter(view({ develop: 'd1' }, pullRequest(7)), {
      kind: 'pull-request',
      pullRequest: pullRequest(7, { state: 'merged' }),
    });
    expect(kindsOf(planMirror(environments, closed ?? view({}), rules, nobody))).toEqual(['delete pr-7']);
    // Its target is deleted first.
    expect(kindsOf(planMirror(environments, view({}, pullRequest(7, { targetBranch: 'develop' })), rules, nobody))).toEqual([
      'reparent pr-7',
      'delete develop',
    ]);
  });

  test('drafts are left out where that is said, and pull requests altogether', () => {
    const drafts = view({}, pullRequest(7, { isDraft: true }));
    expect(kindsOf(planMirror([production], drafts, rules, nobody))).toEqual(['create pr-7']);
    expect(planMirror([production], drafts, { ...rules, buildDrafts: false }, nobody)).toEqual([]);
    expect(planMirror([production], drafts, { ...rules, buildPullRequests: false }, nobody)).toEqual([]);
  });

  test('a merge is built anew when the target moves', () => {
    const postMerge = { ...rules, buildPostMerge: true };
    const steps = planMirror([production], view({}, pullRequest(7)), postMerge, nobody);
    expect(steps[0]).toMatchObject({ pullRequest: { ref: 'refs/pull/7/merge' } });
    const moved = planMirror(carriedOut([production], steps), view({ main: 'm1' }, pullRequest(7)), postMerge, nobody);
    expect(kindsOf(moved)).toEqual(['update main', 'update pr-7']);
  });

  test('a pull request from a fork waits for approval, and each later commit of it, too', () => {
    const fork = pullRequest(7, { isFromFork: true });
    expect(planMirror([production], view({}, fork), rules, nobody)).toEqual([{ kind: 'ask-approval', number: 7, commit: 'c1' }]);
    const approved = planMirror([production], view({}, fork), rules, new Map([[7, 'c1']]));
    expect(kindsOf(approved)).toEqual(['create pr-7']);
    const pushed = planMirror(carriedOut([production], approved), view({}, { ...fork, commit: 'c2' }), rules, new Map([[7, 'c1']]));
    expect(pushed).toEqual([{ kind: 'ask-approval', number: 7, commit: 'c2' }]);
  });

  test('what was branched from a pull request goes before it, deepest first; where branches are not pruned it stays, below production', () => {
    const below = (name: string, parent: string): MirroredEnvironment => ({ name, origin: 'branch', parent, revision: 'b0' });
    const request: MirroredEnvironment = { name: 'pr-7', origin: 'pull-request', parent: 'main', revision: 'c1' };
    const all = [production, request, below('mine', 'pr-7'), below('a', 'mine'), below('other', 'main')];
    expect(kindsOf(planMirror(all, view({}), rules, nobody))).toEqual(['delete a', 'delete mine', 'delete pr-7', 'delete other']);
    const open = view({}, pullRequest(7));
    const keeping = { ...rules, pruneBranches: false };
    expect(planMirror(all, open, keeping, nobody)).toEqual([]);
    const closed = planMirror(all, view({}), keeping, nobody);
    expect(kindsOf(closed)).toEqual(['reparent mine', 'delete pr-7']);
    expect(carriedOut(all, closed).find(({ name }) => name === 'mine')).toMatchObject({ parent: 'main' });
  });

  test('a branch does not stay below a pull request that leads to it', () => {
    const topic: MirroredEnvironment = { name: 'topic', origin: 'branch', parent: 'pr-7', revision: 't1' };
    const request: MirroredEnvironment = { name: 'pr-7', origin: 'pull-request', parent: 'main', revision: 'c1' };
    const steps = planMirror([production, request, topic], view({ topic: 't1' }, pullRequest(7, { targetBranch: 'topic' })), rules, nobody);
    expect(steps).toEqual([
      { kind: 'reparent', name: 'topic', parent: 'main' },
      { kind: 'reparent', name: 'pr-7', parent: 'topic' },
    ]);
  });

  test('a branch that is called like a pull request is not mirrored, and gives way to one', () => {
    expect(planMirror([production], view({ 'pr-7': 'b' }), rules, nobody)).toEqual([]);
    const own: MirroredEnvironment = { name: 'pr-7', origin: 'branch', parent: 'main', revision: 'b' };
    const steps = planMirror([production, own], view({}, pullRequest(7)), { ...rules, fetchBranches: false }, nobody);
    expect(kindsOf(steps)).toEqual(['delete pr-7', 'create pr-7']);
  });
});

/** What happens at the host, with the delivery that tells of it. */
type Happening = { event: HostEvent; isLost: boolean; isTwice: boolean; approves: boolean };

const deletableNames = fc.constantFrom('develop', 'topic', 'a/b', 'pr-2');
const branchNames = fc.oneof(fc.constant('main'), deletableNames);
const commits = fc.constantFrom('c1', 'c2', 'c3');
const pullRequests = fc
  .record({
    number: fc.integer({ min: 1, max: 4 }),
    state: fc.constantFrom('open' as const, 'open' as const, 'merged' as const, 'closed' as const),
    isDraft: fc.boolean(),
    isFromFork: fc.boolean(),
    targetBranch: branchNames,
    commit: commits,
  })
  .map(({ number, ...more }) => pullRequest(number, more));
// No host lets its default branch be deleted.
const events: fc.Arbitrary<HostEvent> = fc.oneof(
  fc.record({ kind: fc.constant('branch-pushed' as const), branch: branchNames, commit: commits }),
  fc.record({ kind: fc.constant('branch-deleted' as const), branch: deletableNames }),
  fc.record({ kind: fc.constant('pull-request' as const), pullRequest: pullRequests }),
  fc.record({ kind: fc.constant('tag-pushed' as const), tag: fc.constant('v1'), commit: commits }),
);
const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.record({ event: events, isLost: fc.boolean(), isTwice: fc.boolean(), approves: fc.boolean() }),
  { maxLength: 25 },
);
const anyRules: fc.Arbitrary<MirrorRules> = fc
  .record({
    fetchBranches: fc.boolean(),
    pruneBranches: fc.boolean(),
    buildPullRequests: fc.boolean(),
    buildDrafts: fc.boolean(),
    buildPostMerge: fc.boolean(),
  })
  .map((chosen) => ({ ...rules, ...chosen }));

/** The host itself, which loses nothing. Written apart from the view, so that one can be held against the other. */
function openHost() {
  const branches = new Map([['main', 'm0']]);
  const open = new Map<number, PullRequest>();
  return {
    happen(event: HostEvent) {
      if (event.kind === 'branch-pushed') branches.set(event.branch, event.commit);
      if (event.kind === 'branch-deleted') branches.delete(event.branch);
      if (event.kind === 'pull-request') {
        open.delete(event.pullRequest.number);
        if (event.pullRequest.state === 'open') open.set(event.pullRequest.number, event.pullRequest);
      }
    },
    listing: () =>
      viewOf(
        [...branches].map(([name, commit]) => ({ name, commit })),
        [...open.values()],
      ),
  };
}

const isChange = ({ kind }: MirrorStep) => kind !== 'ask-approval';

function livedThrough(story: readonly Happening[], by: MirrorRules, mayLose: boolean) {
  const host = openHost();
  const approvals = new Map<number, string>();
  let [known, environments]: [HostView, MirroredEnvironment[]] = [host.listing(), [production]];
  for (const { event, isLost, isTwice, approves } of story) {
    host.happen(event);
    if (approves && event.kind === 'pull-request') approvals.set(event.pullRequest.number, event.pullRequest.commit);
    if (mayLose && isLost) continue;
    for (let times = isTwice ? 2 : 1; times > 0; times -= 1) {
      known = viewAfter(known, event) ?? host.listing();
      environments = carriedOut(environments, planMirror(environments, known, by, approvals));
    }
  }
  return { environments, approvals, listing: host.listing() };
}

describe('deliveries and listings', () => {
  test('where no delivery is lost, a listing finds nothing left to do', () => {
    fc.assert(
      fc.property(happenings, anyRules, (story, by) => {
        const { environments, approvals, listing } = livedThrough(story, by, false);
        expect(planMirror(environments, listing, by, approvals).filter(isChange)).toEqual([]);
      }),
    );
  });

  test('event by event and all at once come to the same environments, where branches are pruned', () => {
    fc.assert(
      fc.property(happenings, anyRules, (story, chosen) => {
        const by = { ...chosen, pruneBranches: chosen.fetchBranches };
        const { environments, approvals, listing } = livedThrough(story, by, false);
        expect(carriedOut([production], planMirror([production], listing, by, approvals))).toEqual(environments);
      }),
    );
  });

  test('whatever deliveries are lost, one listing heals it, and the next one has nothing to do', () => {
    fc.assert(
      fc.property(happenings, anyRules, (story, chosen) => {
        const by = { ...chosen, pruneBranches: chosen.fetchBranches };
        const { environments, approvals, listing } = livedThrough(story, by, true);
        const healed = carriedOut(environments, planMirror(environments, listing, by, approvals));
        expect(healed).toEqual(carriedOut([production], planMirror([production], listing, by, approvals)));
        expect(planMirror(healed, listing, by, approvals).filter(isChange)).toEqual([]);
      }),
    );
  });

  test('nothing of a fork is built that nobody approved', () => {
    fc.assert(
      fc.property(happenings, anyRules, (story, by) => {
        const { environments, approvals, listing } = livedThrough(story, { ...by, buildPostMerge: false }, false);
        const forks = new Set([...listing.pullRequests.values()].filter(({ isFromFork }) => isFromFork).map(({ number }) => number));
        const built = environments.filter(({ name, origin }) => origin === 'pull-request' && forks.has(Number(name.slice(3))));
        expect(built.map(({ revision }) => revision)).toEqual(built.map(({ name }) => approvals.get(Number(name.slice(3)))));
      }),
    );
  });
});
