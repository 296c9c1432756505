/** A project on a real machine, whose operations are run through the API. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Faults } from '../../kernel/activity-run.ts';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import { rooms } from '../../rooms.ts';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import type { Content, TestDeployments } from '../../testing/deployed-project.ts';

const lookMilliseconds = 20;

export async function openOperatedProject(all: TestDeployments) {
  const project = await all.project();
  const { owner, projectId } = project;
  const { platform } = all.home;
  const at = `/projects/${projectId}/environments/main`;
  const repository = platform.git.path(projectId);

  /** Commits on top of the branch as if it had been pushed; nothing is deployed. */
  const commit = async (content: Content): Promise<string> => {
    const to = commitFiles(repository, await platform.git.branch(projectId, 'main'), content);
    git(repository, ['update-ref', 'refs/heads/main', to]);
    const change = platform.db.updateTable('environments').set({ head_commit: to });
    await change.where('project_id', '=', projectId).where('id', '=', 'main').execute();
    return to;
  };
  const begin = async (path: string, body: unknown = {}): Promise<{ id: string }> => {
    const { status, json, text } = await owner.send('POST', `${at}${path}`, body);
    const activities = json?._embedded?.activities ?? [];
    if (status >= 300 || activities.length !== 1) throw new Error(`POST ${path} answered ${status}: ${text}`);
    return activities[0];
  };
  const log = async (id: string): Promise<string> => {
    const { rows } = await sql<{ message: string }>`
      select message from activity_log where activity_id = ${id} order by position`.execute(platform.db);
    return rows.map(({ message }) => message).join('');
  };
  const look = async (id: string) => {
    const { type, state, result, failure_reason, commands } = await activityRow(platform, id);
    return { id, type, state, result, failure_reason, commands, log: await log(id) };
  };
  const ended = async ({ id }: { id: string }, faults?: Faults) => {
    await workThrough(platform, faults);
    return look(id);
  };
  /** Runs activities until this one has logged these words; then does the work while the runner goes on. */
  const whenSaid = async <T>({ id }: { id: string }, words: string, work: () => Promise<T>): Promise<T> => {
    const runner = startRunner(activitiesOf(rooms), platform, { leaseSeconds: 2 });
    try {
      for (let said = ''; !said.includes(words); said = await log(id)) {
        const { state } = await activityRow(platform, id);
        if (state !== 'pending' && state !== 'in_progress') throw new Error(`It ended before it said so:\n${await log(id)}`);
        await sleep(lookMilliseconds);
      }
      return await work();
    } finally {
      await runner.close();
    }
  };

  return {
    ...project,
    at,
    repository,
    commit,
    begin,
    ended,
    look,
    whenSaid,
    act: async (path: string, body?: unknown, faults?: Faults) => ended(await begin(path, body), faults),
    send: (method: string, path: string, body?: unknown) => owner.send(method, `${at}${path}`, body),
    branch: () => platform.git.branch(projectId, 'main'),
    /** What clients are told of an activity and what the database keeps of it, except for the output of its commands. */
    told: async (id: string) => {
      const { log: _, ...told } = (await owner.send('GET', `/projects/${projectId}/activities/${id}`)).json;
      return JSON.stringify([told, await activityRow(platform, id)]);
    },
  };
}

export type OperatedProject = Awaited<ReturnType<typeof openOperatedProject>>;
