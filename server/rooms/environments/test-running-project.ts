/** A project whose main environment runs on a real machine, and is changed as people change it: by pushes and through the API. */
import { sql } from 'kysely';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import type { Content, TestDeployments } from '../../testing/deployed-project.ts';
import { projectById } from '../projects/public.ts';
import { recordUpdate } from './record-push.ts';

/** Tells its version, what it is told, and what it finds in its store, where it has one. */
const server = (version: string) => `
require('node:http').createServer((request, reply) => {
  reply.end(JSON.stringify({ version: '${version}', color: process.env.COLOR, startedAt: performance.timeOrigin }));
}).listen(process.env.PORT, '0.0.0.0');
`;

export interface Configured {
  /** Its hook; `false` does not build. */
  build?: string;
  services?: string;
}

export const filesOf = (version: string, { build = 'true', services = '{}' }: Configured = {}): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    hooks: { build: ${JSON.stringify(build)} }
    mounts: { data: { source: storage, source_path: data } }
    web: { commands: { start: exec node server.js } }
services: ${services}
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': server(version),
});

export async function openRunningProject(all: TestDeployments) {
  const project = await all.project();
  const { owner, projectId } = project;
  const { platform } = all.home;
  const at = `/projects/${projectId}/environments/main`;
  let head: string | undefined;

  const beginPush = async (content: Content) => {
    const repository = platform.git.path(projectId);
    const [from, to] = [head, commitFiles(repository, head, content)];
    git(repository, ['update-ref', 'refs/heads/main', to]);
    head = to;
    const [activity] = await platform.db.transaction().execute(async (tx) => {
      const found = await projectById(tx, projectId);
      if (!found) throw new Error('The project is gone');
      const actor = { id: owner.user.id, created_at: '', updated_at: '', display_name: 'Ada' };
      return recordUpdate(tx, platform, { project: found, update: { branch: 'main', from: from ?? null, to }, actor, options: {} });
    });
    if (!activity) throw new Error('Nothing was recorded');
    return activity;
  };
  const begin = async (method: string, path: string, body?: unknown): Promise<{ id: string }> => {
    const { status, json, text } = await owner.send(method, `${at}${path}`, body);
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return activity;
  };
  const ended = async ({ id }: { id: string }) => {
    await workThrough(platform);
    const { type, state, result, failure_reason } = await activityRow(platform, id);
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(platform.db);
    return { id, type, state, result, failure_reason, log: rows.map(({ message }) => message).join('') };
  };

  return {
    ...project,
    at,
    head: () => head,
    beginPush,
    begin,
    ended,
    push: async (content: Content) => ended(await beginPush(content)),
    act: async (method: string, path: string, body?: unknown) => ended(await begin(method, path, body)),
    send: (method: string, path: string, body?: unknown) => owner.send(method, `${at}${path}`, body),
    environment: async () => (await owner.send('GET', at)).json,
    staged: async (): Promise<{ id: string; type: string; result: string }[]> =>
      (await owner.send('GET', `${at}/activities?state=staged`)).json,
  };
}

export type RunningProject = Awaited<ReturnType<typeof openRunningProject>>;
