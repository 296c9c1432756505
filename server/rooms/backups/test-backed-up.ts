/** A project that runs, with a database and files, whose backups are made and looked at through the API, while people visit it. */
import { type RunningEdge, startRunningEdge } from '../../../edge/testing/running-edge.ts';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { openTestDeployments } from '../../testing/deployed-project.ts';
import { openDrill, smallFiles } from './test-drill.ts';
import { removeOldBackups } from './remove-old-backups.ts';

/** A backup as the API tells of it. */
export interface Told {
  id: string;
  created_at: string;
  size_of_volumes: number;
  size_used: number;
  _links: object;
}

export async function openBackedUp() {
  let edge!: RunningEdge;
  const all = await openTestDeployments(async (volumes) => {
    edge = await startRunningEdge({ volumes });
    return edge.edge;
  });
  for (const type of ['nodejs:22', 'postgresql:17']) await all.machine.images.ensure(type);
  const project = await openDrill(all);
  const { owner, projectId } = project;
  const { platform } = all.home;
  await project.release(smallFiles('one', { services: '{ db: { type: "postgresql:17" } }' }));
  const { blobs } = platform;

  const send = (method: string, path: string, body?: unknown) => owner.send(method, `${project.at('main')}${path}`, body);
  const begin = async (method: string, path: string, body?: unknown): Promise<{ id: string }> => {
    const { status, json, text } = await send(method, path, body);
    const [activity] = json?._embedded?.activities ?? [];
    if (!activity) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return activity;
  };
  const act = async (method: string, path: string, body?: unknown) => project.ended(await begin(method, path, body));
  const list = async (): Promise<Told[]> => (await send('GET', '/backups')).json;

  /** Visitors who each send one request after the other until stopped; answers with every reply that was not right. */
  function visitors(count: number) {
    const wrong: string[] = [];
    const stop = new AbortController();
    let answered = 0;
    const one = async () => {
      const host = `${(await project.row()).machine_name}-${projectId}.offshoot.localhost`;
      while (!stop.signal.aborted) {
        const { status, body } = await edge.get(host).catch((error: unknown) => ({ status: 0, body: String(error) }));
        if (status === 200) answered += 1;
        else wrong.push(`${status} ${body.slice(0, 100)}`);
      }
    };
    const visiting = Promise.all(Array.from({ length: count }, one));
    const end = async () => {
      stop.abort();
      await visiting;
      return { wrong, answered };
    };
    return { end };
  }

  return {
    ...project,
    all,
    blobs,
    send,
    begin,
    act,
    list,
    visitors,
    ids: async () => (await list()).map(({ id }) => id),
    environment: async () => (await send('GET', '')).json,
    activity: async (id: string) => (await owner.send('GET', `/projects/${projectId}/activities/${id}`)).json,
    cancel: (id: string) => owner.send('POST', `/projects/${projectId}/activities/${id}/cancel`),
    tidy: () => removeOldBackups.run(platform, new AbortController().signal),
    /** The names of all copies of backups on the pool. */
    copies: async () => (await all.machine.volumes.list()).map(({ name }) => name).filter((name) => name.startsWith('backup-')),
    inStore: async () => (await blobs.list(projectId)).toSorted(),
    state: async () => (await project.table())?.state,
    /** The states that the edge was told since the last call. Renewals of a hold are left out. */
    toldEdge: () => {
      const states = all.edge.told.splice(0).map((line) => line.split(' ')[1]);
      return states.filter((state, n) => state !== 'holding' || states[n - 1] !== 'holding');
    },
    withBlobs: async <T>(changes: Partial<Blobs>, work: () => Promise<T>): Promise<T> => {
      platform.blobs = { ...blobs, ...changes };
      return work().finally(() => (platform.blobs = blobs));
    },
    close: async () => {
      await edge[Symbol.asyncDispose]();
      await all.close();
    },
  };
}

export type BackedUp = Awaited<ReturnType<typeof openBackedUp>>;
