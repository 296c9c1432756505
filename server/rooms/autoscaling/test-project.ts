/** Projects on a machine that only remembers what it is told, for tests of settings and of what follows from measurements. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, expect } from 'vitest';
import { workThrough } from '../../testing/activities.ts';
import { openMemoryMachine, type MemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';

export interface ScalingHome {
  home: TestPlatform;
  machine: MemoryMachine;
}

export async function openScalingHome(): Promise<ScalingHome> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-autoscaling-'));
  const machine = openMemoryMachine(folder);
  const home = await openTestPlatform(undefined, async () => machine);
  afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));
  return { home, machine };
}

/** Hooks cannot run on a machine that only remembers; a test with containers has them. */
const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js } }
    workers: { queue: { commands: { start: exec node queue.js } } }
services:
  cache: { type: 'valkey:8.1' }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
};

export async function openScalingProject({ home }: ScalingHome) {
  const owner = await home.person();
  const { projectId } = await sampleProject(owner);
  const { platform } = home;
  const at = `/projects/${projectId}/environments/main`;
  const head_commit = commitFiles(platform.git.path(projectId), undefined, files);
  await platform.git.moveBranch(projectId, 'main', undefined, head_commit);
  await platform.db.updateTable('environments').set({ head_commit }).where('project_id', '=', projectId).execute();
  const send = (method: string, path: string, body?: unknown) => owner.send(method, `${at}${path}`, body);
  const environment = async () => (await send('GET', '')).json;
  const row = () =>
    platform.db
      .selectFrom('environments')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('id', '=', 'main')
      .executeTakeFirstOrThrow();
  /** Types and sentences of what happened, the oldest first, without what deployed the project. */
  const happened = async (): Promise<string[]> => {
    const { rows } = await sql<{ type: string; text: string }>`
      select type, text from activities where project_id = ${projectId} and type in ('environment.alert', 'environment.resources.update')
        and payload -> 'user' ->> 'id' = 'admin' order by position`.execute(platform.db);
    return rows.map(({ type, text }) => `${type}: ${text}`);
  };
  return {
    owner,
    projectId,
    at,
    send,
    set: (services: object, method = 'PATCH') => send(method, '/autoscaling/settings', { services }),
    settings: async () => (await send('GET', '/autoscaling/settings')).json,
    environment,
    row,
    happened,
    deploy: async () => {
      await send('POST', '/activate');
      await workThrough(platform);
      expect((await environment()).status).toBe('active');
    },
    count: async (app = 'app') => {
      const { sizing } = await environment();
      return (sizing.webapps[app] ?? sizing.workers[app]).instance_count;
    },
  };
}

export type ScalingProject = Awaited<ReturnType<typeof openScalingProject>>;

export async function deployedProject(scaling: ScalingHome): Promise<ScalingProject> {
  const project = await openScalingProject(scaling);
  await project.deploy();
  return project;
}
