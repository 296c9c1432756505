/** The durable work on the code of environments, and what follows from it for what runs. */
import { Type, type Static } from 'typebox';
import { MergeConflict, StaleBranch, type CommitSummary } from '../../drivers/git/git.ts';
import { activity, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { compareWithParents } from './compare-with-parents.ts';
import { deployBranch, Deploying } from './deploy-branch.ts';
import { deleteEnvironment, updateEnvironment } from './queries.ts';

const commitsToldMax = 100;
const messageCharactersMax = 1000;
const nameCharactersMax = 200;
const parentsToldMax = 16;
const Signature = Type.Object({ name: Type.String(), email: Type.String() });

export const pushActivity = activity({
  type: 'environment.push',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({
    from: Type.Union([Type.String(), Type.Null()]),
    to: Type.String(),
    activate: Type.Boolean(),
    deploying: Deploying,
  }),
  run: async (work, platform) => {
    const { activity: self, input, step, tell, log } = work;
    const [id = ''] = self.environments;
    // Of a new branch, what it adds to its parent.
    const since = input.from ?? (await step('find parent', () => parentHead(platform, self.project_id, id))) ?? undefined;
    const found = await step('parse commits', async () => {
      const { commits, count } = await platform.git.commitsBetween(self.project_id, since, input.to, commitsToldMax);
      log(count === 1 ? 'Found 1 new commit' : `Found ${count} new commits`);
      return { commits: commits.map(inShort), count };
    });
    tell({ commits: found.commits, commits_count: found.count });
    await step('compare', () => compareWithParents(platform, self.project_id, [id]));
    await deployBranch(work, platform, id, { ...input.deploying, occasion: 'code', activate: input.activate });
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

/** Messages can be megabytes, and a hundred of them are told to everybody who lists activities. */
const inShort = ({ sha, parents, author, message }: CommitSummary) => ({
  sha,
  parents: parents.slice(0, parentsToldMax),
  author: { ...author, name: author.name.slice(0, nameCharactersMax), email: author.email.slice(0, nameCharactersMax) },
  message: message.slice(0, messageCharactersMax).toWellFormed(),
});

export const branchActivity = activity({
  type: 'environment.branch',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ parent: Type.String(), environment: Type.String(), activate: Type.Boolean(), deploying: Deploying }),
  run: async (work, platform) => {
    const { activity: self, input, step, record, log } = work;
    const { db, git } = platform;
    const { project_id } = self;
    const commit = await step(
      'choose commit',
      () => headOf(platform, project_id, input.parent),
      () => db.transaction().execute((tx) => deleteEnvironment(tx, project_id, input.environment)),
    );
    log(`Creating branch ${input.environment} from ${input.parent} (${commit.slice(0, 7)})`);
    await step(
      'create branch',
      () =>
        orStale(
          git.moveBranch(project_id, input.environment, undefined, commit),
          `There is a branch ${input.environment} in the repository already; choose another name.`,
        ),
      () => unlessStale(git.moveBranch(project_id, input.environment, commit, undefined)),
    );
    await record('remember commit', async (tx) => {
      await updateEnvironment(tx, project_id, input.environment, { head_commit: commit, commits_ahead: 0, commits_behind: 0 });
    });
    await deployBranch(work, platform, input.environment, { ...input.deploying, occasion: 'code', activate: input.activate });
  },
});

/** Merging and synchronizing are the same thing in two directions: one branch takes in another. */
const Intake = Type.Object({ into: Type.String(), from: Type.String(), rebase: Type.Boolean(), by: Signature, message: Type.String() });
type Intake = Static<typeof Intake>;

export const mergeActivity = activity({
  type: 'environment.merge',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ code: Intake, deploying: Deploying }),
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
    deploying: Deploying,
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

/** Whether there was anything to take in. */
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
    log(`${into} has all commits of ${from} already`);
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
    async () => void (await updateEnvironment(platform.db, project_id, into, { head_commit: heads.ours })),
  );
  await step('compare', () => compareWithParents(platform, project_id, [into, from]));
  return true;
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
  input: Type.Object({ environment: Type.String() }),
  run: async ({ activity: self, input: { environment }, step, record, log }, { db, git }) => {
    const { project_id } = self;
    const head = await step(
      'read branch',
      async () => (await git.branch(project_id, environment)) ?? null,
      async () => void (await updateEnvironment(db, project_id, environment, { status: 'inactive' })),
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
    deploying: Type.Optional(Deploying),
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
      () => orStale(git.moveBranch(project_id, environment, undefined, commit), `Somebody pushed to ${environment} meanwhile.`),
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

/** Of a setting that containers or the router follow. */
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

/** The branch as Git has it. */
async function headOf({ git }: Platform, projectId: string, branch: string): Promise<string> {
  const commit = await git.branch(projectId, branch);
  if (commit === undefined) throw new Problem('conflict', `There are no commits in ${branch} yet; push some first.`);
  return commit;
}

async function orStale(moving: Promise<void>, words: string): Promise<void> {
  try {
    await moving;
  } catch (error) {
    throw error instanceof StaleBranch ? new Problem('conflict', words, { cause: error }) : error;
  }
}

/** To be undone only as long as nobody has built on it. */
async function unlessStale(moving: Promise<void>): Promise<void> {
  await moving.catch((error: unknown) => {
    if (!(error instanceof StaleBranch)) throw error;
  });
}
