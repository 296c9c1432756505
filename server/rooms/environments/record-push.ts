/**
 * A push, in two halves. `announcePush` is asked before Git moves any branch: it refuses what the pusher may not do, and writes down what is about to
 * happen. `recordPush` follows when the branches have moved: environments and activities are made, and the note is gone, in one transaction.
 * Whatever happens between the two, the note and the repository together tell what to do (reconcilers.ts).
 */
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { startActivity, type Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { refuseFurtherActivities } from '../../kernel/waiting-activities.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorById, environment as named, person, sentence, type Actor } from '../activities/public.ts';
import { projectById, type Project } from '../projects/public.ts';
import { deleteEnvironmentActivity, pushActivity } from './activities.ts';
import { createEnvironment, refuseNewNames } from './create-environment.ts';
import { concernedBy, DeployOptions } from './deploy-branch.ts';
import { EnvironmentEntity } from './environment.ts';
import { isBranchName } from './names.ts';
import { parsePushOptions, type PushOptions } from './push-options.ts';
import { environmentById, hasDedicated, lockTree, markDeleting, updateEnvironment, type Environment } from './queries.ts';
import { allowedTypes } from './types.ts';
import { environmentLife } from './life-cycle.ts';

export interface BranchUpdate {
  branch: string;
  /** The old head; undefined: the branch is new. */
  from: string | undefined;
  /** The new head; undefined: the branch is deleted. */
  to: string | undefined;
  /** Whether commits are only added; true for new and for deleted branches. */
  isFastForward: boolean;
}

export interface AnnouncedPush {
  id: string;
  /** Lines for the person who pushes. */
  warnings: string[];
}

const branchesMax = 50;

/** Throws a Problem with a sentence for the person who pushes. `options` are as given to `git push -o`. */
export async function announcePush(
  { db, config }: Platform,
  caller: Caller,
  project: Project,
  updates: readonly BranchUpdate[],
  options: readonly string[],
): Promise<AnnouncedPush> {
  if (project.status !== 'active') throw new Problem('conflict', 'The project is not active; nothing can be pushed to it now.');
  if (updates.length > branchesMax) throw new Problem('too-large', `Push at most ${branchesMax} branches at once.`);
  const parsed = parsePushOptions(options);
  const projectIsDedicated = await hasDedicated(db, project.id);
  const parent =
    parsed.options.parent === undefined ? undefined : await environmentById(db, config.domain, project.id, parsed.options.parent);
  if (parsed.options.parent !== undefined && !(parent && caller.can('environment:view', EnvironmentEntity.scope(parent))))
    throw new Problem(
      'invalid-request',
      `The push option environment.parent must name an environment; there is no ${JSON.stringify(parsed.options.parent)}.`,
    );
  const kept = updates.filter(({ to }) => to !== undefined).map(({ branch }) => branch);
  await refuseNewNames(db, project.id, kept.filter(isBranchName));
  for (const update of updates) {
    const existing = await environmentById(db, config.domain, project.id, update.branch);
    refuseUpdate(update, existing, { caller, project, options: parsed.options, projectIsDedicated });
  }
  await refuseFurtherActivities(db, project.id, updates.length + (await announcedUpdates(db, project.id)));
  const { id } = await db
    .insertInto('pushes')
    .values({
      project_id: project.id,
      user_id: caller.id,
      updates: JSON.stringify(updates.map(({ branch, from, to }) => ({ branch, from: from ?? null, to: to ?? null }))),
      options: JSON.stringify(parsed.options),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, warnings: parsed.warnings };
}

/** The number of branches in pushes that were announced and have no activities yet, over all projects of the organization. */
async function announcedUpdates(db: Db, projectId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(jsonb_array_length(pushes.updates)), 0)::integer as count
    from parties as own join parties as theirs using (party) join pushes on pushes.project_id = theirs.project_id
    where own.project_id = ${projectId}`.execute(db);
  return rows[0]?.count ?? 0;
}

interface PushContext {
  caller: Caller;
  project: Project;
  options: PushOptions;
  projectIsDedicated: boolean;
}

function refuseUpdate(
  { branch, to, isFastForward }: BranchUpdate,
  existing: Environment | undefined,
  { caller, project, options, projectIsDedicated }: PushContext,
) {
  if (!isBranchName(branch))
    throw new Problem('invalid-request', `${JSON.stringify(branch)} cannot be the name of an environment; choose another.`);
  const allowed = allowedTypes({
    isDefaultBranch: branch === project.default_branch,
    isDedicated: existing?.is_dedicated ?? false,
    projectIsDedicated,
  });
  const wanted = existing ? existing.type : allowed.find((type) => type === options.type);
  if (!existing && options.type !== undefined && !wanted)
    throw new Problem('invalid-request', `The push option environment.type must be ${allowed.join(' or ')} for ${branch}.`);
  const environmentType = wanted ?? allowed[0];
  const scope = { project: project.id, organization: project.organization_id, environmentType };
  const need = (permission: 'environment:push' | 'environment:admin', to_do: string) => {
    const hindrance = caller.hindrance(scope, permission);
    if (hindrance) throw hindrance;
    if (!caller.can(permission, scope))
      throw new Problem(
        'forbidden',
        `You may not ${to_do} ${branch}: it is a ${environmentType} environment; ask an administrator of the project.`,
      );
  };
  need('environment:push', 'push to');
  if (!isFastForward) need('environment:admin', 'force push to');
  if (existing && !environmentLife.possible(existing.status, 'push'))
    throw new Problem('conflict', `The environment ${branch} is being deleted; push again when it is gone.`);
  if (to !== undefined) return;
  need('environment:admin', 'delete');
  if (branch === project.default_branch) throw new Problem('conflict', `${branch} is the default branch and cannot be deleted.`);
  if (existing && !environmentLife.possible(existing.status, 'delete'))
    throw new Problem('conflict', `The environment ${branch} is ${existing.status}; deactivate it first, then delete its branch.`);
}

const Updates = Type.Array(
  Type.Object({ branch: Type.String(), from: Type.Union([Type.String(), Type.Null()]), to: Type.Union([Type.String(), Type.Null()]) }),
);
export type RecordedUpdate = Static<typeof Updates>[number];

/**
 * Idempotent: a push that was already recorded is not recorded again. `moved`: the branches that Git moved, where Git reported them; otherwise the repository is asked.
 */
export async function recordPush(platform: Platform, pushId: string, moved?: readonly string[]): Promise<Activity[]> {
  const { db, git } = platform;
  const note = await db.selectFrom('pushes').select(['project_id', 'updates']).where('id', '=', pushId).executeTakeFirst();
  if (!note) return [];
  const updates = Value.Parse(Updates, note.updates);
  const branches = moved ? undefined : await git.branches(note.project_id);
  const happened = updates.filter(({ branch, to }) => (moved ? moved.includes(branch) : (branches?.get(branch) ?? null) === to));
  return db.transaction().execute(async (tx) => {
    const push = await tx.deleteFrom('pushes').where('id', '=', pushId).returningAll().executeTakeFirst();
    const project = push && (await projectById(tx, push.project_id));
    if (!push || !project) return [];
    const actor = await actorById(tx, push.user_id);
    const activities: Activity[] = [];
    for (const update of happened)
      activities.push(...(await recordUpdate(tx, platform, { project, update, actor, options: push.options as PushOptions })));
    return activities;
  });
}

/** What a code host adds to what can be said with a push. */
export interface MirroredOptions extends PushOptions {
  is_pr?: boolean;
  is_from_fork?: boolean;
  /** Whether the parent's data takes the place of the environment's. */
  replacesData?: boolean;
}

interface Recorded {
  project: Project;
  update: RecordedUpdate;
  actor: Actor;
  options: MirroredOptions;
}

/** Makes the environment what it is after the push, and starts the activity that carries out the rest. */
export async function recordUpdate(tx: Tx, { config }: Platform, { project, update, actor, options }: Recorded): Promise<Activity[]> {
  const { branch, from, to } = update;
  await lockTree(tx, project.id);
  const existing = await environmentById(tx, config.domain, project.id, branch);
  if (to === null && existing && (existing.is_main || !environmentLife.possible(existing.status, 'delete'))) {
    /** An environment that runs, or that of the default branch, is not deleted because its branch went missing. */
    await updateEnvironment(tx, project.id, branch, { head_commit: null });
    return [];
  }
  if (to === null) return existing ? [await startDelete(tx, project, existing, actor)] : [];
  if (existing) await updateEnvironment(tx, project.id, branch, { head_commit: to });
  else
    await createEnvironment(tx, {
      ...options,
      project,
      id: branch,
      parent: await parentFor(tx, project, branch, options),
      head_commit: to,
    });
  const environment = await environmentById(tx, config.domain, project.id, branch);
  if (!environment) throw new Error(`Environment ${branch} is not there after it was made`);
  const activate = options.status === 'active' || environment.is_main;
  const dataFrom = options.replacesData ? await environmentWithData(tx, config.domain, environment) : undefined;
  const activity = await startActivity(tx, pushActivity, {
    project_id: project.id,
    environments: dataFrom ? [environment, dataFrom] : concernedBy(environment, activate),
    isOwed: true,
    input: {
      from,
      to,
      activate,
      ...(dataFrom && { replaceData: dataFrom.id }),
      deploying: Value.Parse(DeployOptions, { strategy: options.strategy, init: options.resources_init }),
    },
    parameters: { user: actor.id, environment: branch, old_commit: from, new_commit: to },
    payload: { user: actor, environment: environmentSummary(environment), commits: [], commits_count: 0 },
    sentence: sentence`${person(actor)} pushed to ${named(environment)}`,
  });
  return [activity];
}

/** The parent, where both have data to share. */
async function environmentWithData(tx: Tx, domain: string, { project_id, parent, status }: Environment): Promise<Environment | undefined> {
  const found = parent === null ? undefined : await environmentById(tx, domain, project_id, parent);
  return found && [status, found.status].every((each) => environmentLife.possible(each, 'shareData')) ? found : undefined;
}

/** The parent of a new environment: the one that a push option names, else that of the default branch. */
async function parentFor(tx: Tx, project: Project, branch: string, { parent }: PushOptions): Promise<string | null> {
  const wanted = parent ?? project.default_branch;
  if (branch === project.default_branch || wanted === branch) return null;
  const found = await tx
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', project.id)
    .where('id', '=', wanted)
    .executeTakeFirst();
  return found?.id ?? null;
}

/** Deletes the environment unless it has become active, or the default branch's, in the meantime. */
export async function startDelete(tx: Tx, project: { id: string }, environment: Environment, actor: Actor): Promise<Activity> {
  await lockTree(tx, project.id);
  const marked = await markDeleting(tx, project.id, environment.id);
  if (!marked) throw new Problem('conflict', environmentLife.otherwise(environment.status, 'delete'));
  return startActivity(tx, deleteEnvironmentActivity, { ...deletionOf(environment, actor), input: { environment: environment.id } });
}

/** What an activity that deletes the environment is started with. */
export const deletionOf = (environment: Environment, actor: Actor) => ({
  project_id: environment.project_id,
  environments: [environment],
  isOwed: true,
  parameters: { user: actor.id, environment: environment.id },
  payload: { user: actor, environment: environmentSummary(environment) },
  sentence: sentence`${person(actor)} deleted environment ${named(environment)}`,
});

const toldFields = [
  'id',
  'name',
  'machine_name',
  'title',
  'type',
  'parent',
  'status',
  'is_main',
  'head_commit',
  'project',
  'created_at',
  'updated_at',
] as const satisfies (keyof Environment)[];

/** What a payload tells of an environment. */
export const environmentSummary = (environment: Environment) => Object.fromEntries(toldFields.map((field) => [field, environment[field]]));
