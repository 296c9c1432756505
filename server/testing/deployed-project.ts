/** Projects whose environments run on a real machine, through real activities; only the edge is one that remembers what it is told. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { activity, startActivity, type ActivityDefinition } from '../kernel/activity.ts';
import type { Edge } from '../drivers/edge/edge.ts';
import { logsFolder, type Machine } from '../machine.ts';
import { activityRow, workThrough } from './activities.ts';
import type { ImagesOptions } from '../drivers/images/cached-images.ts';
import { openTestContainers } from './images.ts';
import { openTestPlatform } from './platform.ts';
import { commitFiles } from './repository.ts';
import { sampleProject } from './samples.ts';
import { machineName } from '../rooms/environments/public.ts';
import {
  deployStack,
  pauseStack,
  removeStack,
  resumeStack,
  type CodeDeployment,
  type DeployRequest,
  type RollbackDeployment,
} from '../rooms/deployments/work.ts';
import { openMemoryEdge, rememberingEdge } from './memory-edge.ts';

const Environment = Type.Object({ environment: Type.String() });

const deploy = activity({
  type: 'test.deploy',
  queue: 'default',
  input: Type.Unsafe<DeployRequest>({ type: 'object' }),
  run: (work, platform) => deployStack(work, platform, work.input),
});

const doing = (type: string, work: typeof pauseStack) =>
  activity({ type, queue: 'default', input: Environment, run: (its, platform) => work(its, platform, its.input.environment) });
const others = {
  pause: doing('test.pause', pauseStack),
  resume: doing('test.resume', resumeStack),
  remove: doing('test.remove', removeStack),
};

export const definitions: ActivityDefinition[] = [deploy, ...Object.values(others)];

export type Content = Record<string, string>;
type Changes = Partial<CodeDeployment> | Partial<RollbackDeployment>;

export interface Ended {
  result: string | null;
  log: string;
}

/** The containers and volumes of one stack, without its id. */
export interface OnTheMachine {
  containers: string[];
  volumes: string[];
}

/** `startEdge` is told the folder of the volumes; without it the edge only remembers. */
export async function openTestDeployments(startEdge?: (volumes: string) => Promise<Edge>, options: ImagesOptions = {}) {
  const containers = await openTestContainers(options);
  const { runtime, images, volumes } = containers;
  const edge = startEdge ? rememberingEdge(await startEdge(volumes.folder)) : openMemoryEdge();
  const machine: Machine = {
    runtime,
    images,
    volumes,
    edge,
    tls: false,
    get logs() {
      return logsFolder(home.platform.config);
    },
  };
  const home = await openTestPlatform(undefined, async () => machine);
  const { platform } = home;

  const found = async (stackId: string | null): Promise<OnTheMachine> => {
    const id = stackId ?? 'no stack';
    const running = (await runtime.list()).filter(({ network }) => network === id).map(({ name }) => name.replace(id, '…'));
    const kept = (await volumes.list()).map(({ name }) => name).filter((name) => new RegExp(`^[a-z]+-${id}-`).test(name));
    const isScratch = (name: string) => name.startsWith('scratch-');
    return {
      containers: running.sort(),
      volumes: kept
        .filter((name) => !isScratch(name))
        .map((name) => name.replace(id, '…'))
        .sort(),
    };
  };

  async function project() {
    const owner = await home.person();
    const { projectId } = await sampleProject(owner);
    const begin = (definition: ActivityDefinition, input: object, environment: string) =>
      platform.db
        .transaction()
        .execute((tx) =>
          startActivity(tx, definition, { project_id: projectId, environments: [{ id: environment, type: 'development' }], input }),
        );
    const ended = async ({ id }: { id: string }): Promise<Ended> => {
      await workThrough(platform, undefined, definitions);
      const { result } = await activityRow(platform, id);
      const { rows } = await sql<{ message: string }>`
        select message from activity_log where activity_id = ${id} order by position`.execute(platform.db);
      return { result, log: rows.map(({ message }) => message).join('') };
    };
    const well = ({ result, log }: Ended) => {
      if (result !== 'success') throw new Error(`The activity failed:\n${log}`);
      return log;
    };
    const beginDeploy = (content: Content, changes: Changes = {}) => {
      const commit = commitFiles(platform.git.path(projectId), undefined, content);
      const usual = {
        kind: 'code',
        environment: 'main',
        commit,
        strategy: 'stopstart',
        init: 'minimum',
        restart: 'nothing',
        isPinned: false,
      } as const;
      return begin(deploy, { ...usual, ...changes }, changes.environment ?? 'main');
    };
    const row = (environment = 'main') =>
      platform.db
        .selectFrom('environments')
        .selectAll()
        .where('project_id', '=', projectId)
        .where('id', '=', environment)
        .executeTakeFirstOrThrow();
    const table = async (environment = 'main') => edge.table.get(`${projectId}-${(await row(environment)).machine_name}`);
    const instances = async (environment = 'main', app = 'app') => (await table(environment))?.upstreams[app]?.instances ?? [];

    return {
      projectId,
      owner,
      begin: (what: keyof typeof others, environment = 'main') => begin(others[what], { environment }, environment),
      beginDeploy,
      ended,
      /** Deploys, and gives the log; a failure is the test's. */
      push: async (content: Content, changes?: Changes) => well(await ended(await beginDeploy(content, changes))),
      /** Deploys, and accepts any result. */
      attempt: async (content: Content, changes?: Changes) => ended(await beginDeploy(content, changes)),
      does: async (what: keyof typeof others) => well(await ended(await begin(others[what], { environment: 'main' }, 'main'))),
      row,
      table,
      instances,
      found: async (environment = 'main') => found((await row(environment)).stack_id),
      /** What its first instance answers. */
      ask: async (environment = 'main'): Promise<unknown> => {
        const [first] = await instances(environment);
        if (!first || 'socket' in first.address) throw new Error('There is no instance');
        const { host, port } = first.address;
        return (await fetch(`http://${host}:${port}/`)).json();
      },
      /** What a command in its first instance prints. */
      inside: async (script: string, environment = 'main') => {
        const [first] = await instances(environment);
        const { code, stdout, stderr } = await containers.run(first?.id ?? '', { argv: ['dash', '-c', script] });
        if (code !== 0) throw new Error(`${script} ended with ${code}: ${stderr}`);
        return stdout.trim();
      },
      addEnvironment: (id: string) =>
        platform.db
          .insertInto('environments')
          .values({ project_id: projectId, id, machine_name: machineName(id, projectId), title: id, type: 'development', parent: 'main' })
          .execute(),
    };
  }

  return {
    home,
    /** The folder of the machine. */
    folder: containers.folder,
    machine,
    edge,
    found,
    project,
    close: async () => {
      for (const { name } of await runtime.list()) await runtime.remove(name);
      for (const { name } of await volumes.list()) await volumes.remove(name);
      await containers.close();
    },
  };
}

export type TestDeployments = Awaited<ReturnType<typeof openTestDeployments>>;
