/**
 * Runs the script of an integration when an activity concerns it, as an activity of its own: one after the other for each integration, as what they are told of happened.
 * What the script prints is the log. A script that was interrupted by a kill is run again from its beginning.
 */
import { availableParallelism } from 'node:os';
import { Type, type Static } from 'typebox';
import { runScript } from '../../../drivers/scripts/run-script.ts';
import { activity, CommandFailed, startActivity, type Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import { nullable } from '../../../kernel/schema.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { ActivityEntity, sentence, strong, type ListedActivity } from '../../activities/public.ts';
import { maskOf } from '../../builds/public.ts';
import { ProjectEntity, projectLimit } from '../../projects/public.ts';
import { laneOf } from '../activity-hooks/hook-delivery.ts';
import { activityBody } from '../activity-hooks/webhook-request.ts';
import { opened, type Integration } from '../integration.ts';
import { openedVariable, variablesOf } from '../integration-variable.ts';
import { integrationsOf } from '../queries.ts';
import { scriptFetch } from './script-fetch.ts';
import { storageOf } from './script-storage.ts';

const ScriptInput = Type.Object({
  integration: Type.String(),
  /** What the script is told of, and the state to which it had come. */
  activity: Type.String(),
  activity_type: Type.String(),
  state: Type.String(),
  result: nullable(Type.String()),
  completion_percent: Type.Integer(),
});
type ScriptInput = Static<typeof ScriptInput>;

const keptDays = 30;

export const scriptActivity = activity({
  type: 'integration.script',
  queue: 'integration',
  input: ScriptInput,
  isPatient: true,
  keptDays,
  run: async (work, platform) => {
    await work.step('run', (signal) => runWithinLimit(work, platform, signal));
  },
});

export const startScript = (tx: Tx, _: Platform, { id, project_id }: Integration, told: ListedActivity) =>
  start(tx, project_id, {
    integration: id,
    activity: told.id,
    activity_type: told.type,
    state: told.state,
    result: told.result,
    completion_percent: told.completion_percent,
  });

/** Has a script run again about the same thing, as the script is now. */
export const repeatScript = (tx: Tx, { project_id, input }: ListedActivity) => start(tx, project_id, input as ScriptInput);

const start = (tx: Tx, projectId: string, input: ScriptInput) =>
  startActivity(tx, scriptActivity, {
    project_id: projectId,
    integration: input.integration,
    lane: laneOf(input.integration),
    isOwed: true,
    input,
    parameters: { integration: input.integration, activity: input.activity },
    payload: { activity: input.activity, activity_type: input.activity_type, activity_state: input.state },
    sentence: sentence`The script ${strong(input.integration)} was run for ${strong(input.activity_type)}`,
  });

/** Scripts take processors from what runs here. */
const limit = projectLimit(Math.max(2, Math.floor(availableParallelism() / 2)));

type ScriptWork = Work<ScriptInput>;

const runWithinLimit = (work: ScriptWork, platform: Platform, signal: AbortSignal) =>
  limit(platform.db, work.activity.project_id, work, { signal }, async () => {
    const integration = await integrationOf(work, platform);
    const { variables, mask } = await variablesFor(platform, integration.id);
    const globals = { ...(await subjects(work, platform)), variables };
    const failure = await runScript({
      source: String(integration.values['script']),
      globals,
      calls: { fetch: scriptFetch(platform.outbound, signal), ...storageOf(platform.db, integration.id) },
      print: (line) => work.log(mask(line)),
      signal,
    });
    if (failure === undefined) return;
    work.log(mask(failure));
    throw new CommandFailed('The script failed.');
  });

async function integrationOf({ activity: { project_id }, input }: ScriptWork, { db, secrets }: Platform): Promise<Integration> {
  const [row] = await integrationsOf(db, project_id, input.integration);
  if (!row) throw new Problem('not-found', 'The integration is not there any more.');
  return opened(secrets, row);
}

/** What it is told of: the activity as webhooks are sent it, and its project. */
async function subjects({ activity: { project_id: projectId }, input }: ScriptWork, platform: Platform) {
  const [told, project] = await Promise.all([
    ActivityEntity.load({ projectId, activityId: input.activity }, platform),
    ProjectEntity.load({ projectId }, platform),
  ]);
  if (!told || !project) throw new Problem('not-found', 'What the script would be told of is not there any more.');
  const { state, result, completion_percent } = input;
  const then = { ...told, state: state as ListedActivity['state'], result, completion_percent };
  return { activity: JSON.parse(activityBody(then, platform.config.url)) as unknown, project: shownFields(project) };
}

const projectFields = Object.keys(ProjectEntity.schema.properties);

function shownFields(project: object): Record<string, unknown> {
  const shown = JSON.parse(JSON.stringify(project)) as Record<string, unknown>;
  return Object.fromEntries(projectFields.map((name) => [name, shown[name]]));
}

/** Values of sensitive variables are kept out of the log. */
async function variablesFor({ db, secrets }: Platform, integrationId: string) {
  const stored = (await variablesOf(db, integrationId)).map((row) => ({ ...row, text: openedVariable(secrets, row) }));
  const variables = Object.fromEntries(stored.map(({ name, text, is_json }) => [name, is_json ? (JSON.parse(text) as unknown) : text]));
  return { variables, mask: maskOf(stored.filter(({ is_sensitive }) => is_sensitive).map(({ text }) => text)) };
}
