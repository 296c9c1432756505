/** What a code host is told of commits: whether they are deployed, by the last activity that concerned each. */
import type { CommitStatus, StatusState } from '../../../drivers/code-hosts/code-host.ts';

/** The last activity that deployed a commit, or tried to. */
export interface Deploying {
  activity: string;
  state: string;
  result: string | null;
  seconds: number | null;
  /** The commit in the repository here. */
  head: string;
  /** The same at the host: another one where the result of a merge is built. */
  commit: string;
  /** Where its log is. */
  log: string;
}

/** What was told, by the commit here. */
export type ToldStatuses = Readonly<Record<string, { commit: string; activity: string; state: StatusState }>>;

/** Of so many commits it is remembered what was told: more are never under way at once. */
const rememberedMax = 10;

export const statusName = (environment: string) => `offshoot/${environment}`;

/** What is told while an activity is in a state that is not its end. */
const courses: Readonly<Record<string, { state: StatusState; says(environment: string): string }>> = {
  pending: { state: 'pending', says: (environment) => `Waits to be deployed to ${environment}` },
  scheduled: { state: 'pending', says: (environment) => `Waits to be deployed to ${environment}` },
  in_progress: { state: 'pending', says: (environment) => `Is being deployed to ${environment}` },
  staged: { state: 'pending', says: (environment) => `Is built, and waits for somebody to deploy it to ${environment}` },
  unapproved: { state: 'pending', says: () => 'Comes from a fork: waits until an admin of the project approves this commit' },
  cancelled: { state: 'failure', says: (environment) => `The deployment to ${environment} was cancelled` },
};

/** A commit of a fork that nothing is done with yet; `address` is where it is approved. */
export const unapproved = (commit: string, address: string): Deploying => ({
  activity: '',
  state: 'unapproved',
  result: null,
  seconds: null,
  head: commit,
  commit,
  log: address,
});

export const stateOf = ({ state, result }: Pick<Deploying, 'state' | 'result'>): StatusState =>
  courses[state]?.state ?? (result === 'success' ? 'success' : 'failure');

/** What the host does not know yet. Whoever was told that a commit is being deployed is told how that ended, also when the next one is there already. */
export const untold = (told: ToldStatuses, all: readonly Deploying[]): Deploying[] =>
  all.filter((each) => told[each.head]?.activity !== each.activity || told[each.head]?.state !== stateOf(each));

export function afterTelling(told: ToldStatuses, { head, commit, activity, ...rest }: Deploying): ToldStatuses {
  const others = Object.entries(told).filter(([each]) => each !== head);
  return Object.fromEntries([...others, [head, { commit, activity, state: stateOf(rest) }] as const].slice(-rememberedMax));
}

/** `address`: where the environment answers, once something is deployed. */
export const statusOf = (environment: string, deploying: Deploying, address: string | undefined): CommitStatus => {
  const state = stateOf(deploying);
  return {
    commit: deploying.commit,
    name: statusName(environment),
    state,
    description: descriptionOf(environment, deploying),
    url: state === 'success' && address !== undefined ? address : deploying.log,
  };
};

function descriptionOf(environment: string, { state, result, seconds }: Deploying): string {
  const course = courses[state];
  if (course) return course.says(environment);
  if (result !== 'success') return `Could not be deployed to ${environment}; the log tells why`;
  return `Deployed to ${environment}${seconds === null ? '' : ` in ${Math.max(Math.round(seconds), 1)} s`}`;
}
