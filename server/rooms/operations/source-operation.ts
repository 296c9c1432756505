/**
 * A source operation: the command that each app defines under the name runs on a checkout of the branch, one app after the other, each on top of what
 * those before it committed. What they committed is pushed and deployed together; if one of them fails, nothing is.
 *
 * After a kill the command that was interrupted is run again, on a fresh checkout: what it had done there is gone.
 */
import { Type, type Static } from 'typebox';
import { activity, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import type { ProjectModel } from '../builds/public.ts';
import { fetchSubmodules, readModel, removeSourceRuns, runOnSource } from '../builds/work.ts';
import { ensureEntropy } from '../deployments/work.ts';
import { pushCommits } from '../environments/work.ts';
import { projectById } from '../projects/public.ts';
import { pushBytesMax } from '../source/public.ts';
import { effectiveVariables, openGiven, withGiven } from '../variables/public.ts';

const Input = Type.Object({
  environment: Type.String(),
  operation: Type.String(),
  /** Sealed, because variables may be secrets. */
  variables: Type.String(),
  by: Type.Object({ name: Type.String(), email: Type.String() }),
});
type Input = Static<typeof Input>;

export const sourceOperationActivity = activity({
  type: 'environment.source-operation',
  queue: 'default',
  usesMachine: true,
  input: Input,
  run: async (work, platform) => {
    const { step, log, input, activity: self } = work;
    const { environment, operation } = input;
    const from = await step('read branch', () => headOf(platform, self.project_id, environment));
    const apps = await step('find operation', async (signal) => {
      await fetchSubmodules(platform, { activity: self, commit: from, log, signal });
      return appsWith(await modelOf(platform, self.project_id, from), operation);
    });
    let to = from;
    for (const app of apps) {
      const commit = to;
      to = await step(
        `run in ${app}`,
        (signal) => runInApp(work, platform, { app, from, commit }, signal),
        async () => removeSourceRuns(await platform.machine(), self.id),
      );
    }
    if (to === from) log('There are no new commits: nothing is pushed');
    else await pushCommits(work, platform, environment, { from, to });
  },
});

/** The head as the database has it, so that commits which Git has beyond it are noticed as somebody's push. */
async function headOf({ db }: Platform, projectId: string, id: string): Promise<string> {
  const row = await db
    .selectFrom('environments')
    .select('head_commit')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (!row?.head_commit) throw new Problem('conflict', `There are no commits in ${id}; push some first.`);
  return row.head_commit;
}

async function modelOf(platform: Platform, projectId: string, commit: string): Promise<ProjectModel> {
  const found = await readModel(platform, projectId, commit);
  if (!found) throw new Problem('conflict', 'There is no configuration in the last commit.');
  return found.model;
}

/** The names of the apps that define the operation. */
function appsWith({ applications }: ProjectModel, operation: string): string[] {
  const apps = Object.values(applications).filter(({ source }) => Object.hasOwn(source.operations, operation));
  if (apps.length === 0) throw new Problem('conflict', `No application defines the source operation '${operation}' any more.`);
  return apps.map(({ name }) => name);
}

interface AppRun {
  app: string;
  /** The commit whose configuration counts. */
  from: string;
  /** The commit that is checked out. */
  commit: string;
}

async function runInApp(work: Work<Input>, platform: Platform, appRun: AppRun, signal: AbortSignal): Promise<string> {
  const { activity: self, input, log } = work;
  const { db, secrets, config } = platform;
  const { project_id } = self;
  const { environment, operation, by } = input;
  const project = await projectById(db, project_id);
  const app = (await modelOf(platform, project_id, appRun.from)).applications[appRun.app];
  const { command } = app?.source.operations[operation] ?? {};
  if (!project || !app || command === undefined) throw new Problem('conflict', `There is no source operation '${operation}' any more.`);
  const entropy = await db.transaction().execute((tx) => ensureEntropy(tx, secrets, project_id));
  const own = await effectiveVariables(db, secrets, project_id, environment);
  log(`Running source operation '${operation}' of application '${app.name}'`);
  const { runtime, images, volumes } = await platform.machine();
  const parts = { runtime, images, volumes, git: platform.git, db, config };
  const to = await runOnSource(
    parts,
    {
      activity: self,
      wait: work.wait,
      project: { id: project_id, entropy },
      branch: environment,
      commit: appRun.commit,
      app,
      what: `source operation '${operation}' of application '${app.name}'`,
      command,
      by,
      variables: withGiven(own, openGiven(secrets, runOn({ project_id, id: environment }), input.variables)),
      packBytesMax: pushBytesMax(project, config),
      log,
      ended: (exit_code) => work.command({ app: app.name, type: 'source_operation', exit_code }),
    },
    signal,
  );
  if (to === appRun.commit) log('  No new commits');
  return to;
}

interface Target {
  project_id: string;
  id: string;
}

/** The purpose that variables given for a run are sealed for. */
export const runOn = ({ project_id, id }: Target) => `of a source operation ${project_id} ${id}`;
