/** How projects come, are renamed, and go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Type, type Static } from 'typebox';
import { activity, startActivity } from '../../kernel/activity.ts';
import { askToCancel, cancelWaiting } from '../../kernel/activity-queries.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { actorById, environment as named, person, sentence, strong } from '../activities/public.ts';
import { removeAllStacks } from '../deployments/work.ts';
import { environmentById, environmentSummary } from '../environments/public.ts';
import { createDefaultEnvironment, initializeActivity } from '../environments/work.ts';
import { projectById, type Project } from '../projects/public.ts';
import { endCreation, forgetProject, isPushUnderWay, openActivitiesBeside } from './queries.ts';
import { keepDeletedRepository } from './keep-deleted-repository.ts';

const Initialize = Type.Object({
  profile: Type.Optional(Type.String()),
  repository: Type.Optional(Type.String()),
  config: Type.Optional(Type.String()),
});

export const createProjectActivity = activity({
  type: 'project.create',
  queue: 'default',
  input: Type.Object({ user_id: Type.String(), initialize: Type.Optional(Initialize) }),
  run: async ({ activity: { project_id: id }, input, step, record, log }, { db, git, config }) => {
    const project = await projectById(db, id);
    if (!project) throw new Problem('not-found', 'The project is gone.');
    log(`Creating the repository of ${project.title}`);
    await step(
      'create repository',
      () => git.create(id, project.default_branch),
      async () => {
        await endCreation(db, id, 'failed');
        await git.remove(id);
      },
    );
    await record('create environment', async (tx) => {
      await createDefaultEnvironment(tx, project);
      await endCreation(tx, id, 'active');
      if (input.initialize) await beginInitialize(tx, config.domain, project, input.initialize, input.user_id);
    });
    log('The project is ready');
  },
});

/** Starts fetching the initial code, now that there is a repository to put it into. */
async function beginInitialize(
  tx: Tx,
  domain: string,
  project: Project,
  { profile = '', repository, config }: Static<typeof Initialize>,
  userId: string,
) {
  const environment = await environmentById(tx, domain, project.id, project.default_branch);
  if (!environment || repository === undefined) return;
  const [actor, user] = [
    await actorById(tx, userId),
    await tx.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirst(),
  ];
  await startActivity(tx, initializeActivity, {
    project_id: project.id,
    environments: [environment],
    isOwed: true,
    input: {
      environment: environment.id,
      repository,
      ...(config !== undefined && { config }),
      files: [],
      by: { name: actor.display_name, email: user?.email ?? `${actor.id}@${domain}` },
    },
    parameters: { user: actor.id, environment: environment.id, profile },
    payload: { user: actor, outcome: environmentSummary(environment), profile },
    sentence: sentence`${person(actor)} initialized environment ${named(environment)} with profile ${strong(profile)}`,
  });
}

/** The title has already changed when this runs; the activity only records the change in the project's history. */
export const renameProjectActivity = activity({
  type: 'project.modify.title',
  queue: 'default',
  input: Type.Object({ title: Type.String() }),
  run: async ({ input: { title }, log }) => log(`The project is now called ${title}`),
});

/** Tells Git which branch clones begin with. The branch is read when this runs, so that several changes in a row end with the last one. */
export const moveDefaultBranchActivity = activity({
  type: 'project.modify.default_branch',
  queue: 'default',
  cancellable: false,
  input: Type.Object({}),
  run: async ({ activity: { project_id: id }, step, log }, { db, git }) => {
    const branch = await step('tell Git', async () => {
      const project = await projectById(db, id);
      if (!project) throw new Problem('not-found', 'The project is gone.');
      await git.setDefaultBranch(id, project.default_branch);
      return project.default_branch;
    });
    log(`The default branch is now ${branch}`);
  },
});

const keptDays = 30;

/**
 * Each step can be run again, and what was deleted stays deleted: there is nothing to undo. Until the last step the project exists, as being deleted, so a
 * deletion that failed for good can be asked for again.
 */
export const deleteProjectActivity = activity({
  type: 'project.delete',
  usesMachine: true,
  /** The deletion waits for the project's other activities, so it must not take a place in a queue in which they wait. */
  queue: 'internal',
  cancellable: false,
  keptDays,
  input: Type.Object({}),
  run: async (work, platform) => {
    const {
      activity: { id: removal, project_id: id },
      step,
      record,
      log,
    } = work;
    const { db, git, config } = platform;
    log('Waiting for other work on the project to end');
    await step('end other work', (signal) => endOtherWork(db, id, removal, signal));
    const kept = await step('keep a last backup', async (signal) => (await keepDeletedRepository(git, config.data, id, signal)) ?? null);
    if (kept !== null) log('A last copy of the repository was kept; the operator of this installation can hand it out');
    await removeAllStacks(work, platform);
    await step('remove repository', () => git.remove(id));
    await record('forget', (tx) => forgetProject(tx, id, removal));
  },
});

const otherWorkSecondsMax = 600;
const pushSecondsMax = 30;
const lookMilliseconds = 200;
const atOnceMax = 100;

async function endOtherWork(db: Db, projectId: string, removal: string, signal: AbortSignal): Promise<void> {
  const until = Date.now() + otherWorkSecondsMax * 1000;
  for (;;) {
    const open = await openActivitiesBeside(db, projectId, removal, atOnceMax);
    if (open.length === 0 && !(await isPushUnderWay(db, projectId, pushSecondsMax))) return;
    if (Date.now() > until)
      throw new Problem('conflict', 'Other activities of the project did not end in time; cancel them, then delete the project again.');
    for (const id of open) await db.transaction().execute(async (tx) => (await cancelWaiting(tx, id)) ?? (await askToCancel(tx, id)));
    await sleep(lookMilliseconds, undefined, { signal });
  }
}
