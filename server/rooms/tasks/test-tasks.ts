/** A project with tasks, running on a real machine. What its tasks do is up to whoever runs them: most run the script that they are told. */
import { sql } from 'kysely';
import { startActivity } from '../../kernel/activity.ts';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import type { Content, TestDeployments } from '../../testing/deployed-project.ts';
import { pushActivity } from '../environments/work.ts';

const server = `require('node:http').createServer((request, reply) => reply.end(String(performance.timeOrigin))).listen(process.env.PORT, '0.0.0.0');`;

/** `scripted` and `other` run what `SCRIPT` says; `hooked` is told how its hook ends; `report` uses every field. */
export const filesWith = (more = ''): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    source: { root: app }
    build: { flavor: none }
    hooks: { deploy: echo deployed >>shared/deployed }
    mounts: { shared: { source: storage, source_path: shared } }
    relationships: { db: 'db:postgresql' }
    web: { commands: { start: exec node server.js } }
services: { db: { type: 'postgresql:17' } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
tasks:
  report:
    type: nodejs:22
    source: { root: report }
    dependencies: {}
    hooks: { build: echo built >built, deploy: echo preparing }
    relationships: { db: 'db:postgresql', store: 'db:postgresql' }
    mounts:
      shared: { source: storage, source_path: shared, service: app }
      kept: { source: storage, source_path: kept }
      scratch: { source: tmp, source_path: scratch }
    variables: { env: { GREETING: hello }, theme: { color: red } }
    additional_hosts: { legacy.example: 192.0.2.7 }
    timezone: America/New_York
    authorizations: [{ type: task, action: run, resource: scripted }]
    run: { command: sh report.sh, timeout: 60 }
  scripted: &scripted { type: nodejs:22, source: { root: report }, run: { command: eval "$SCRIPT", timeout: 60 } }
  other: *scripted
  brief: { type: nodejs:22, source: { root: report }, run: { command: eval "$SCRIPT", timeout: 5 } }
  hooked: { type: nodejs:22, source: { root: report }, hooks: { deploy: exit $HOOK }, run: { command: echo done && exit $CODE } }
  small: { type: nodejs:22, source: { root: report }, resources: { base_memory: 64, memory_ratio: 128 }, run: { command: eval "$SCRIPT" } }
${more}`,
  'app/server.js': server,
  'report/report.sh': `
echo "$GREETING $NAME"
echo "from $(cat built), in $(date +%Z), as $PLATFORM_APPLICATION_NAME of $PLATFORM_BRANCH"
getent hosts legacy.example
query() { PGPASSWORD=$DB_PASSWORD psql -qtA -h "$1" -U "$DB_USERNAME" "$DB_PATH" -c "$2"; }
query "$DB_HOST" "create table if not exists runs (n serial); insert into runs default values" 2>/dev/null
echo "run $(query "$STORE_HOST" 'select count(*) from runs') at $DB_HOST and $STORE_HOST"
echo x >>kept/runs && echo x >scratch/file && echo x >>shared/runs
echo "kept $(wc -l <kept/runs), shared $(cat shared/deployed | head -1)"
echo x 2>/dev/null >built || echo "cannot change its own files"
echo "its password is $DB_PASSWORD"
node -p 'JSON.stringify(JSON.parse(Buffer.from(process.env.PLATFORM_VARIABLES, "base64")))'
printf "to the end"
`,
});

export async function openTasks(all: TestDeployments) {
  const { owner, projectId } = await all.project();
  const { platform } = all.home;
  const at = `/projects/${projectId}/environments/main`;
  let head: string | undefined;

  const log = async (id: string) => {
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(platform.db);
    return rows.map(({ message }) => message.trimEnd());
  };
  const ended = async (id: string) => {
    await workThrough(platform);
    const { state, result, failure_reason, commands, payload } = await activityRow(platform, id);
    return { id, state, result, failure_reason, commands, payload, log: await log(id) };
  };
  const begin = async (task: string, variables: object = {}): Promise<string> => {
    const { status, json, text } = await owner.send('POST', `${at}/tasks/${task}/run`, { variables: { env: variables } });
    if (status !== 200) throw new Error(`The run of ${task} was answered with ${status}: ${text}`);
    return json._embedded.activities[0].id;
  };

  return {
    projectId,
    owner,
    at,
    log,
    ended,
    begin,
    run: async (task: string, variables?: object) => ended(await begin(task, variables)),
    send: (method: string, path: string, body?: unknown) => owner.send(method, `${at}${path}`, body),
    push: async (content: Content) => {
      const repository = platform.git.path(projectId);
      const to = commitFiles(repository, head, content);
      git(repository, ['update-ref', 'refs/heads/main', to]);
      const input = { from: head ?? null, to, activate: true, deploying: {} };
      head = to;
      await platform.db.updateTable('environments').set({ head_commit: to }).where('project_id', '=', projectId).execute();
      const { id } = await platform.db
        .transaction()
        .execute((tx) =>
          startActivity(tx, pushActivity, { project_id: projectId, environments: [{ id: 'main', type: 'production' }], input }),
        );
      const outcome = await ended(id);
      if (outcome.result !== 'success') throw new Error(outcome.log.join('\n'));
      return outcome.log;
    },
    /** What the project's app answers: the time at which it was started. */
    ask: async () => {
      const told = [...all.edge.table.values()].find(({ cluster }) => cluster.startsWith(projectId));
      const address = told?.upstreams['app']?.instances[0]?.address;
      if (!address || 'socket' in address) throw new Error('There is no instance');
      return (await fetch(`http://${address.host}:${address.port}/`)).text();
    },
    /** The names of all containers of tasks. */
    containers: async () => (await all.machine.runtime.list()).map(({ name }) => name).filter((name) => name.includes('-task-')),
  };
}

export type Tasks = Awaited<ReturnType<typeof openTasks>>;
