/** What the edge is told of a stack: where its instances and files are now. */
import { join, relative } from 'node:path';
import type { EnvironmentState, FilesAt, Instance } from '../../../../edge/routing/table.ts';
import { keepTold, tell, type Entry, type Listed } from '../../../drivers/edge/told.ts';
import type { ContainerState } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import { instancesOf, isWorker, runnablesOf, servicesOf, volumeOfMount } from '../stack/containers.ts';
import { edgeEnvironmentOf } from '../stack/edge-table.ts';
import type { Deployed } from '../queries.ts';
import { appPort, portOf } from '../stack/relationships.ts';
import { appRoot } from '../stack/runtime-variables.ts';

export async function tellEdge(machine: Machine, deployed: Deployed, state: EnvironmentState): Promise<void> {
  await tell(machine.edge, await entryOf(machine, deployed, state));
}

/** Has requests wait while the instances go on running. From the given time on, in milliseconds since 1970, the edge lets requests through even if this process is gone. */
export async function holdAtEdge(machine: Machine, deployed: Deployed, holds_until: number): Promise<void> {
  await tell(machine.edge, { ...(await entryOf(machine, deployed, 'holding')), holds_until });
}

/** Tells the edge only where the edge has something else, or may have. */
export const keepEdgeTold = async (machine: Machine, deployed: Deployed, state: EnvironmentState, listed: Listed): Promise<boolean> =>
  keepTold(machine.edge, await entryOf(machine, deployed, state), listed);

async function entryOf(machine: Machine, deployed: Deployed, state: EnvironmentState): Promise<Entry> {
  const [instances, services, files] = await Promise.all([
    instancesAt(machine, deployed),
    routedServicesAt(machine, deployed),
    filesAt(machine, deployed),
  ]);
  const situation = { version: 0, state, instances: { ...instances, ...services }, files, tls: machine.tls, hosts: deployed.hosts };
  return edgeEnvironmentOf(deployed.stack, situation);
}

/** The instances that are ready, or have been: one that is being restarted will be ready again in a moment. */
async function instancesAt({ runtime }: Machine, { stack, generations }: Deployed): Promise<Record<string, Instance[]>> {
  const found = await Promise.all(
    runnablesOf(stack)
      .filter((runnable) => !isWorker(runnable))
      .map(async (runnable) => {
        const states = await Promise.all(instancesOf(stack, generations, runnable, {}).map(({ name }) => runtime.state(name)));
        const ready = states.flatMap((state) => {
          const address = addressOf(state, isWorker(runnable) ? appPort : portOf(stack, runnable));
          return address && isOrWillBeReady(state) ? { id: state.name, address } : [];
        });
        return [runnable.name, ready] as const;
      }),
  );
  return Object.fromEntries(found);
}

const isOrWillBeReady = ({ status }: ContainerState) => ['running', 'paused', 'restarting'].includes(status);

/** The services that answer routes, each with its one instance. */
async function routedServicesAt({ runtime }: Machine, { stack }: Deployed): Promise<Record<string, Instance[]>> {
  const found = await Promise.all(
    servicesOf(stack)
      .filter(({ service }) => service.answersRoutes)
      .map(async ({ name, service, container }) => {
        const state = await runtime.state(container.name);
        const { address: host } = state;
        const isThere = host !== undefined && isOrWillBeReady(state);
        return [name, isThere ? [{ id: state.name, address: { host, port: service.relationship.port } }] : []] as const;
      }),
  );
  return Object.fromEntries(found);
}

/** The address of an instance: its socket, where it has one. */
function addressOf({ address, socket }: ContainerState, port: number): Instance['address'] | undefined {
  if (socket !== undefined) return { socket };
  return address === undefined ? undefined : { host: address, port };
}

/** The files of each app: its slug, and over it the volumes that are mounted there. */
async function filesAt({ volumes }: Machine, { stack }: Deployed): Promise<Record<string, FilesAt[]>> {
  const pathOf = async (name: string) => (await volumes.volume(name))?.path;
  const found = await Promise.all(
    Object.values(stack.model.applications).map(async (app) => {
      const slug = stack.slugs[app.name];
      const root = slug && (await pathOf(slug.volume));
      const mounted = await Promise.all(
        Object.entries(app.mounts).map(async ([path, mount]): Promise<FilesAt[]> => {
          const volume = volumeOfMount(stack, app.name, mount);
          const folder = volume === undefined ? undefined : await pathOf(volume);
          if (folder === undefined) return [];
          return [{ at: `${appRoot}${path}`, folder, below: pathInside(folder, mount.source_path), is_immutable: false }];
        }),
      );
      const built: FilesAt[] = root === undefined ? [] : [{ at: appRoot, folder: root, below: '', is_immutable: true }];
      return [app.name, [...built, ...mounted.flat()]] satisfies [string, FilesAt[]];
    }),
  );
  return Object.fromEntries(found);
}

/** The configuration has no path that leads out of its volume; but a stack may come from a backup that was made elsewhere. */
function pathInside(folder: string, path: string): string {
  const found = join(folder, path).replace(/\/+$/, '');
  if (found !== folder && !found.startsWith(`${folder}/`))
    throw new Problem('invalid-request', `${path} is not inside the volume that it is mounted from; name a folder of the volume.`);
  return relative(folder, found);
}

const drainSecondsMax = 30;

/** Waits until nothing is under way at instances that the edge no longer sends anything to. */
export async function drainInstances({ edge }: Pick<Machine, 'edge'>, cluster: string, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => edge.drain(cluster, name, drainSecondsMax)));
}
