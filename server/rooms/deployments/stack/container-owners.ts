/**
 * Whose the containers and volumes of the machine are: the app, worker, service or task of which environment. Their names tell the stack, and have names of the
 * configuration only in a short form, so what the stack's deployments name is read once for each deployment, and then remembered.
 */
import { sql } from 'kysely';
import type { Db } from '../../../kernel/sql.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { deploymentLife } from '../life-cycle.ts';
import { storageOwners } from '../sizes/sizes.ts';
import { dataVolume, labelOf, partsOfContainer, storageVolume } from './names.ts';
import { workersIn } from './workers.ts';

export interface Owner {
  project: string;
  /** The environment's machine name. */
  environment: string;
  /** The name of the app, worker, service or task. */
  service: string;
  /** `<service>.<n>` */
  instance: string;
}

export interface Owners {
  ofContainer(name: string): Owner | undefined;
  ofVolume(name: string): Owner | undefined;
}

interface Deployment {
  id: string;
  stack_id: string;
  project_id: string;
  machine_name: string;
}

/** Names of the configuration by what the machine has instead. */
interface Names {
  service: ReadonlyMap<string, string>;
  app: ReadonlyMap<string, string>;
  volumes: ReadonlyMap<string, string>;
}

/** Returns what is to be asked for the owners of all containers of a moment, whose names are given. */
export function openOwners(db: Db): (containers: readonly string[]) => Promise<Owners> {
  let known = new Map<string, Names>();
  let tasks = new Map<string, string>();
  return async (containers) => {
    const deployments = await occupying(db);
    known = await namesOf(db, deployments, known);
    tasks = await namesOfTasks(db, containers, tasks);
    const stacks = Map.groupBy(deployments, ({ stack_id }) => stack_id);
    const namedIn = (stackId: string, named: (names: Names) => string | undefined): Omit<Owner, 'instance'> | undefined => {
      for (const { id, project_id, machine_name } of stacks.get(stackId) ?? []) {
        const names = known.get(id);
        const service = names && named(names);
        if (service !== undefined) return { project: project_id, environment: machine_name, service };
      }
      return undefined;
    };
    return {
      ofContainer: (name) => {
        const parts = partsOfContainer(name);
        if (!parts) return undefined;
        const { stackId, of, label, index } = parts;
        const owner = namedIn(stackId, (names) => (of === 'task' ? tasks.get(label) : names[of].get(label)));
        return owner && { ...owner, instance: `${owner.service}.${index}` };
      },
      ofVolume: (name) => {
        const [, stackId = ''] = /^stack-([a-z2-7]{13})-/.exec(name) ?? [];
        const owner = namedIn(stackId, ({ volumes }) => volumes.get(name));
        return owner && { ...owner, instance: `${owner.service}.0` };
      },
    };
  };
}

/** The latest first: where an app's name has changed its meaning, the newer one counts. */
async function occupying(db: Db): Promise<Deployment[]> {
  const { rows } = await sql<Deployment>`
    select deployments.id, deployments.stack_id, deployments.project_id, machine_name
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = environment_id
    where ${deploymentLife.sqlPossible('deployments.status', 'occupy')} order by number desc`.execute(db);
  return rows;
}

async function namesOf(db: Db, deployments: readonly Deployment[], known: ReadonlyMap<string, Names>): Promise<Map<string, Names>> {
  const unknown = deployments.filter(({ id }) => !known.has(id)).map(({ id }) => id);
  const { rows } =
    unknown.length === 0
      ? { rows: [] }
      : await sql<{ id: string; stack_id: string; model: ProjectModel }>`
          select id, stack_id, model from deployments where id = any(${unknown})`.execute(db);
  const read = new Map(rows.map(({ id, stack_id, model }) => [id, namesIn(stack_id, model)]));
  return new Map(
    deployments.flatMap(({ id }) => {
      const names = known.get(id) ?? read.get(id);
      return names ? [[id, names]] : [];
    }),
  );
}

function namesIn(stackId: string, model: ProjectModel): Names {
  const byLabel = (names: readonly string[]) => new Map(names.map((name) => [labelOf(name), name]));
  return {
    service: byLabel(Object.keys(model.services)),
    app: byLabel([...Object.keys(model.applications), ...Object.keys(workersIn(model))]),
    volumes: new Map([
      ...Object.values(model.services).map(({ name, type }) => [dataVolume(stackId, name, type), name] as const),
      ...[...storageOwners(model)].map((owner) => [storageVolume(stackId, owner), owner] as const),
    ]),
  };
}

/** By the activities that run them. */
async function namesOfTasks(db: Db, containers: readonly string[], known: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const running = containers.flatMap((name) => {
    const parts = partsOfContainer(name);
    return parts?.of === 'task' ? parts.label : [];
  });
  const unknown = running.filter((activity) => !known.has(activity));
  const { rows } =
    unknown.length === 0
      ? { rows: [] }
      : await sql<{
          id: string;
          task: string | null;
        }>`select id, parameters ->> 'task' as task from activities where id = any(${unknown})`.execute(db);
  const read = new Map(rows.map(({ id, task }) => [id, task ?? undefined]));
  return new Map(
    running.flatMap((activity) => {
      const task = known.get(activity) ?? read.get(activity);
      return task === undefined ? [] : [[activity, task]];
    }),
  );
}
