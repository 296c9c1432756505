/** The durable work on the code of environments, and what follows from it for what runs. */
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { MergeConflict } from '../../drivers/git/git.ts';
import { activity, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { compareWithParents } from './compare-with-parents.ts';
import { deployBranch, DeployOptions } from './deploy-branch.ts';
import { headOf, makeBranch, orStale, unlessStale } from './make-branch.ts';
import { environmentLife } from './life-cycle.ts';
import { deleteEnvironment, isServing, keepEnvironment, lockTree, markDeleting, updateEnvironment } from './queries.ts';
import { logNewCommits } from './log-new-commits.ts';

const Signature = Type.Object({ name: Type.String(), email: Type.String() });

export const pushActivity = activity({
  type: 'environment.push',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({
    from: Type.Union([Type.String(), Type.Null()]),
    to: Type.String(),
    activate: Type.Boolean(),
    /** The environment whose data takes the place of its own. */
    replaceData: Type.Optional(Type.String()),
    deploying: DeployOptions,
  }),
  run: async (work, platform) => {
    const { activity: self, input, step } = work;
    const [id = ''] = self.environments;
    // For a new branch, the log lists the commits that it adds to its parent.
    const since = input.from ?? (await step('find parent', () => parentHead(platform, self.project_id, id))) ?? undefined;
    await logNewCommits(work, platform, since, input.to);
    await step('compare', () => compareWithParents(platform, self.project_id, [id]));
    const { replaceData } = input;
    await deployBranch(work, platform, id, {
      ...input.deploying,
      occasion: 'code',
      activate: input.activate,
      ...(replaceData !== undefined && { replaceData }),
    });
  },
});

const parentHead = async ({ db }: Platform, projectId: string, id: string): Promise<string | null> =>
  (
    await db
      .selectFrom('environments')
      .innerJoin('environments as parents', (join) =>
        join.onRef('parents.project_id', '=', 'environments.project_id').onRef('parents.id', '=', 'environments.parent'),
      )
      .select('parents.head_commit')
      .where('environments.project_id', '=', projectId)
      .where('environments.id', '=', id)
      .executeTakeFirst()
  )?.head_commit ?? null;

export const branchActivity = activity({
  type: 'environment.branch',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ parent: Type.String(), environment: Type.String(), activate: Type.Boolean(), deploying: DeployOptions }),
  run: async (work, platform) => {
    const { parent, environment, deploying } = work.input;
    await makeBranch(work, platform, environment, parent);
    // A branch of an environment that runs, runs too. Activities that came before this one may have changed whether the parent runs.
    const activate = await work.step('look at parent', () => isServing(platform, work.activity.project_id, parent));
    await deployBranch(work, platform, environment, { ...deploying, occasion: 'code', activate });
  },
});

/** Merging and synchronizing are the same thing in two directions: one branch takes in another. */
const Intake = Type.Object({ into: Type.String(), from: Type.String(), rebase: Type.Boolean(), by: Signature, message: Type.String() });
type Intake = Static<typeof Intake>;

export const mergeActivity = activity({
  type: 'environment.merge',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ code: Intake, deploying: DeployOptions }),
  run: async (work, platform) => {
    const { code, deploying } = work.input;
    if (await takeIn(work, platform, code)) await deployBranch(work, platform, code.into, { ...deploying, occasion: 'code' });
  },
});

export const synchronizeActivity = activity({
  type: 'environment.synchronize',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({
    environment: Type.String(),
    code: Type.Optional(Intake),
    deploying: DeployOptions,
    replaceData: Type.Optional(Type.String()),
  }),
  run: async (work, platform) => {
    const { environment, code, deploying, replaceData } = work.input;
    const hasNewCode = code !== undefined && (await takeIn(work, platform, code));
    const isOnlyCode = replaceData === undefined && deploying.sizesFrom === undefined;
    const occasion = hasNewCode ? 'code' : 'restart';
    if (hasNewCode || !isOnlyCode)
      await deployBranch(work, platform, environment, {
        ...deploying,
        occasion,
        atOnce: true,
        ...(replaceData !== undefined && { replaceData }),
      });
  },
});

/** Brings the commits of one branch into another; returns whether there was anything to bring in. */
async function takeIn(work: Work<unknown>, platform: Platform, intake: Intake): Promise<boolean> {
  const { activity: self, step, record, log } = work;
  const { git } = platform;
  const { project_id } = self;
  const { into, from, rebase } = intake;
  const heads = await step('read branches', async () => ({
    ours: await headOf(platform, project_id, into),
    theirs: await headOf(platform, project_id, from),
  }));
  const commit = await step('merge', () => mergedCommit(platform, project_id, heads, intake));
  if (commit === heads.ours) {
    log(`${into} already has all commits of ${from}`);
    return false;
  }
  log(rebase ? `Rebasing ${into} onto ${from}` : `Merging ${from} into ${into}`);
  await step(
    'move branch',
    () => orStale(git.moveBranch(project_id, into, heads.ours, commit), `Somebody pushed to ${into} meanwhile; try again.`),
    () => unlessStale(git.moveBranch(project_id, into, commit, heads.ours)),
  );
  await record(
    'remember commit',
    async (tx) => void (await updateEnvironment(tx, project_id, into, { head_commit: commit })),
    () => headBack(platform, project_id, into, { from: commit, to: heads.ours }),
  );
  await step('compare', () => compareWithParents(platform, project_id, [into, from]));
  return true;
}

/** Moves the head back, unless somebody pushed on top of it meanwhile. */
async function headBack({ db }: Platform, projectId: string, environment: string, { from, to }: { from: string; to: string }) {
  await sql`update environments set head_commit = ${to}, updated_at = clock_timestamp()
    where project_id = ${projectId} and id = ${environment} and head_commit = ${from}`.execute(db);
}

async function mergedCommit(
  { git }: Platform,
  projectId: string,
  { ours, theirs }: { ours: string; theirs: string },
  { into, from, rebase, by, message }: Intake,
): Promise<string> {
  if (await git.isAncestor(projectId, theirs, ours)) return ours;
  if (await git.isAncestor(projectId, ours, theirs)) return theirs;
  try {
    return rebase ? await git.rebase(projectId, ours, theirs, by) : await git.merge(projectId, ours, theirs, message, by);
  } catch (error) {
    if (!(error instanceof MergeConflict)) throw error;
    throw new Problem(
      'conflict',
      `${from} and ${into} are in conflict; merge them in your own clone and push. Conflicts in: ${error.files.join(', ')}`,
    );
  }
}

export const deleteEnvironmentActivity = activity({
  type: 'environment.delete',
  queue: 'default',
  cancellable: false,
  /** Whether it is still to be found out that nothing runs for the environment any more. */
  input: Type.Object({ environment: Type.String(), isToBeMarked: Type.Optional(Type.Boolean()) }),
  run: async ({ activity: self, input: { environment, isToBeMarked }, step, record, log }, { db, git }) => {
    const { project_id } = self;
    if (isToBeMarked) await record('mark', (tx) => markOrProblem(tx, project_id, environment));
    const head = await step(
      'read branch',
      async () => (await git.branch(project_id, environment)) ?? null,
      () => keepEnvironment(db, project_id, environment),
    );
    log(`Deleting branch ${environment}`);
    await step(
      'delete branch',
      async () => {
        if (head !== null)
          await orStale(
            git.moveBranch(project_id, environment, head, undefined),
            `Somebody pushed to ${environment} meanwhile; try again.`,
          );
      },
      async () => {
        if (head !== null) await unlessStale(git.moveBranch(project_id, environment, undefined, head));
      },
    );
    await record('forget environment', (tx) => deleteEnvironment(tx, project_id, environment));
  },
});

async function markOrProblem(tx: Tx, projectId: string, environment: string): Promise<void> {
  await lockTree(tx, projectId);
  if (!(await markDeleting(tx, projectId, environment))) throw new Problem('conflict', environmentLife.otherwise('active', 'delete'));
}

export const initializeActivity = activity({
  type: 'environment.initialize',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({
    environment: Type.String(),
    repository: Type.Optional(Type.String()),
    config: Type.Optional(Type.String()),
    files: Type.Array(Type.Object({ path: Type.String(), mode: Type.Integer(), contents: Type.String() })),
    by: Signature,
    deploying: Type.Optional(DeployOptions),
  }),
  run: async (work, platform) => {
    const { activity: self, input, step, record, log } = work;
    const { git, db } = platform;
    const { project_id } = self;
    const { environment, repository, config, by } = input;
    const files = input.files.map(({ contents, ...file }) => ({ ...file, contents: Buffer.from(contents, 'base64') }));
    log(repository === undefined ? 'Creating the first commit' : `Fetching ${repository}`);
    const source = { ...(repository !== undefined && { repository }), ...(config !== undefined && { config }), files };
    const commit = await step('import', (signal) => git.import(project_id, source, by, log, signal));
    await step(
      'create branch',
      () =>
        orStale(
          git.moveBranch(project_id, environment, undefined, commit),
          `Somebody pushed to ${environment} meanwhile, so it already has code; push to it instead.`,
        ),
      () => unlessStale(git.moveBranch(project_id, environment, commit, undefined)),
    );
    await record(
      'remember commit',
      async (tx) => void (await updateEnvironment(tx, project_id, environment, { head_commit: commit })),
      async () => void (await updateEnvironment(db, project_id, environment, { head_commit: null })),
    );
    await step('compare', () => compareWithParents(platform, project_id, [environment]));
    await deployBranch(work, platform, environment, { ...input.deploying, occasion: 'code', activate: true });
  },
});

/** The activity for a setting that containers or the router follow. */
const settingActivity = (setting: 'http_access' | 'smtp' | 'restrict_robots') =>
  activity({
    type: `environment.update.${setting}`,
    queue: 'default',
    usesMachine: true,
    input: Type.Object({ environment: Type.String() }),
    run: (work, platform) => deployBranch(work, platform, work.input.environment),
  });

export const updateHttpAccessActivity = settingActivity('http_access');
export const updateSmtpActivity = settingActivity('smtp');
export const updateRobotsActivity = settingActivity('restrict_robots');
