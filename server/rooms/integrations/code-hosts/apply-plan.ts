/** Carries out what follows for environments from the code host: each step as a push, or a deletion, of people would be. */
import { environmentNameOf, type MirrorStep, type PullRequestBuild } from '../../../drivers/code-hosts/plan-mirror.ts';
import { StaleBranch } from '../../../drivers/git/git.ts';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { actorById } from '../../activities/public.ts';
import { environmentById, isBranchName, lockTree } from '../../environments/public.ts';
import { isBeingRemoved, markPullRequest, moveBelow, recordUpdate, startRemoval, type MirroredOptions } from '../../environments/work.ts';
import { fetchPullRequest } from './fetch-pull-request.ts';
import { markMirrored } from './mark-mirrored.ts';
import { pullRequestsOf, rememberRevision, type Mirror } from './mirror.ts';

export interface ReadPlan {
  steps: readonly MirrorStep[];
  /** Where the branches that it is about were when it was made. One that has moved since then is left alone, and looked at again. */
  heads: Readonly<Record<string, string>>;
}

export const headsOf = (steps: readonly MirrorStep[], branches: ReadonlyMap<string, string>): ReadPlan['heads'] =>
  Object.fromEntries(
    steps.flatMap((step) => {
      const name = step.kind === 'create' ? step.environment.name : step.kind === 'update' ? step.name : undefined;
      const head = name === undefined ? undefined : branches.get(name);
      return name === undefined || head === undefined ? [] : [[name, head]];
    }),
  );

/** Whether all of it was done: what was not ready is looked at again. */
export async function applyPlan(work: Work<unknown>, platform: Platform, mirror: Mirror, { steps, heads }: ReadPlan): Promise<boolean> {
  const { log, record } = work;
  if (steps.length === 0) log('No changes since last fetch');
  let isComplete = true;
  for (const each of steps) {
    work.signal.throwIfAborted();
    isComplete = (await apply(work, platform, { ...mirror, heads }, each)) && isComplete;
  }
  await record('mark mirrored', (tx) => markMirrored(tx, platform, mirror));
  if (!isComplete) log('Not everything was ready, scheduling a retry');
  return isComplete;
}

type Planned = Mirror & Pick<ReadPlan, 'heads'>;

function apply(work: Work<unknown>, platform: Platform, mirror: Planned, step: MirrorStep): Promise<boolean> {
  switch (step.kind) {
    case 'create': {
      const { environment, pullRequest, clonesData } = step;
      return pullRequest
        ? build(work, platform, mirror, { build: pullRequest, revision: environment.revision, parent: environment.parent, clonesData })
        : push(work, platform, mirror, environment.name, environment.revision, initial(mirror));
    }
    case 'update':
      return step.pullRequest
        ? build(work, platform, mirror, { build: step.pullRequest, revision: step.revision, replacesData: step.resyncsData })
        : push(work, platform, mirror, step.name, step.revision, {});
    case 'reparent':
      return reparent(work, mirror, step.name, step.parent);
    case 'delete':
      return remove(work, platform, mirror, step.name);
    case 'ask-approval':
      work.log(
        `Pull request ${step.number} comes from a fork: it gets an environment once somebody who manages integrations approves ${step.commit}`,
      );
      return Promise.resolve(true);
  }
}

const initial = ({ integration: { values } }: Mirror): MirroredOptions => {
  const init = values['environment_init_resources'];
  return typeof init === 'string' ? { resources_init: init } : {};
};

interface Build {
  build: PullRequestBuild;
  revision: string;
  parent?: string | null;
  clonesData?: boolean;
  replacesData?: boolean;
}

const titleCharactersMax = 250;

async function build(work: Work<unknown>, platform: Platform, mirror: Planned, wanted: Build): Promise<boolean> {
  const { number } = wanted.build;
  const name = environmentNameOf(number);
  const [stored] = await pullRequestsOf(platform.db, mirror.integration.id, number);
  if (!stored) return true;
  const commit = await work.step(`${name}: fetch`, (signal) =>
    fetchPullRequest(work, platform, mirror, wanted.build, stored.details, signal),
  );
  if (commit === null) return false;
  const { title, isFromFork } = stored.details;
  const isNew = wanted.parent !== undefined;
  const options: MirroredOptions = isNew
    ? {
        ...initial(mirror),
        status: 'active',
        title: title.replaceAll(/\p{Cc}+/gu, ' ').slice(0, titleCharactersMax),
        clone_parent_on_create: wanted.clonesData ?? false,
        is_pr: true,
        is_from_fork: isFromFork,
        ...(typeof wanted.parent === 'string' && { parent: wanted.parent }),
      }
    : { replacesData: wanted.replacesData ?? false };
  const isDone = await push(work, platform, mirror, name, commit, options);
  if (isDone)
    await work.record(`${name}: remember`, async (tx) => void (await rememberRevision(tx, mirror.integration.id, number, wanted.revision)));
  return isDone;
}

/** Moves the branch, and records it like a push. What cannot be an environment stays out, and the log says why. */
async function push(
  { step, record, log }: Work<unknown>,
  platform: Platform,
  { project, heads }: Planned,
  branch: string,
  to: string,
  options: MirroredOptions,
): Promise<boolean> {
  const { git, config } = platform;
  if (!isBranchName(branch)) {
    log(`W: ${JSON.stringify(branch)} cannot be the name of an environment: it is left out`);
    return true;
  }
  const from = Object.hasOwn(heads, branch) ? (heads[branch] ?? null) : null;
  log(`${from === null ? 'Creating' : 'Updating'} ${branch} (${to.slice(0, shortIdCharacters)})`);
  try {
    await step(`${branch}: move`, () => git.moveBranch(project.id, branch, from ?? undefined, to));
    return await record(`${branch}: record`, async (tx) => {
      await lockTree(tx, project.id);
      const existing = await environmentById(tx, config.domain, project.id, branch);
      if (existing && (await isBeingRemoved(tx, existing))) return false;
      // Branches that moved without a record are adopted, too (rooms/environments/reconcilers.ts), but nobody knew then that it is a pull request's.
      const isAdopted = existing !== undefined && options.is_pr === true && !existing.is_pr;
      if (isAdopted) await markPullRequest(tx, project.id, branch, options);
      else if (existing?.head_commit === to) return true;
      await recordUpdate(tx, platform, { project, update: { branch, from, to }, actor: await actorById(tx, null), options });
      return true;
    });
  } catch (error) {
    if (error instanceof StaleBranch) return false;
    if (!(error instanceof Problem)) throw error;
    await git.moveBranch(project.id, branch, to, from ?? undefined).catch(() => {});
    log(`W: ${branch} is left as it is: ${error.message}`);
    return true;
  }
}

const shortIdCharacters = 7;

async function reparent({ record, log }: Work<unknown>, { project }: Mirror, name: string, parent: string): Promise<boolean> {
  log(`Moving ${name} below ${parent}`);
  return record(`${name}: reparent`, (tx) => moveBelow(tx, project.id, name, parent));
}

/** It goes in activities of its own. */
async function remove({ record, log }: Work<unknown>, platform: Platform, { project }: Mirror, name: string): Promise<boolean> {
  log(`Deleting ${name}`);
  return record(`${name}: delete`, async (tx) => {
    await lockTree(tx, project.id);
    const environment = await environmentById(tx, platform.config.domain, project.id, name);
    if (!environment || (await isBeingRemoved(tx, environment))) return true;
    return (await startRemoval(tx, platform, environment, await actorById(tx, null))) !== undefined;
  });
}
