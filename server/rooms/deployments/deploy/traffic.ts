/**
 * What the edge is told of a stack: where its instances and files are now. Each word to the edge is newer than the last, so that a late one changes
 * nothing.
 */
import { join, relative } from 'node:path';
import type { EdgeEnvironment, EnvironmentState, FilesAt, Instance } from '../../../../edge/routing/table.ts';
import type { Edge } from '../../../drivers/edge/edge.ts';
import type { ContainerState } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import { instancesOf, isWorker, runnablesOf, volumeOfMount } from '../stack/containers.ts';
import { edgeEnvironmentOf } from '../stack/edge-table.ts';
import type { Deployed } from '../queries.ts';
import { appPort } from '../stack/relationships.ts';
import { appRoot } from '../stack/runtime-variables.ts';

/** What this process told the edge last. It only saves repetition: a process that does not know tells the edge once more. */
const toldTo = stateOf<Edge, Map<string, Told>>(() => new Map());

interface Told {
  version: number;
  state: EnvironmentState;
  content: string;
}

/** Certificates are not there yet: routes of `https` are answered over plain HTTP. */
const tls = false;

export async function tellEdge(machine: Machine, deployed: Deployed, state: EnvironmentState): Promise<void> {
  await say(machine.edge, await environmentOf(machine, deployed, state), 0);
}

/** Has requests wait while the instances go on running. From the given time on, in milliseconds since 1970, the edge lets requests through even if this process is gone. */
export async function holdAtEdge(machine: Machine, deployed: Deployed, holds_until: number): Promise<void> {
  await say(machine.edge, { ...(await environmentOf(machine, deployed, 'holding')), holds_until }, 0);
}

/** Tells the edge only where the edge has something else, or may have. `listed` is what `Edge.list` answered. */
export async function keepEdgeTold(
  machine: Machine,
  deployed: Deployed,
  state: EnvironmentState,
  listed: Readonly<Record<string, number>>,
): Promise<boolean> {
  const wanted = await environmentOf(machine, deployed, state);
  const known = toldTo(machine.edge).get(wanted.cluster);
  const has = listed[wanted.cluster] ?? 0;
  if (known && known.version === has && known.content === JSON.stringify(wanted)) return false;
  await say(machine.edge, wanted, has);
  return true;
}

/** Whether the edge still has what this process told it last. */
export function isTold(
  { edge }: Pick<Machine, 'edge'>,
  cluster: string,
  state: EnvironmentState,
  listed: Readonly<Record<string, number>>,
): boolean {
  const known = toldTo(edge).get(cluster);
  return known?.state === state && known.version === listed[cluster];
}

async function say(edge: Edge, wanted: EdgeEnvironment, has: number) {
  const known = toldTo(edge);
  const version = Math.max(Date.now(), has + 1, (known.get(wanted.cluster)?.version ?? 0) + 1);
  known.set(wanted.cluster, { version, state: wanted.state, content: JSON.stringify(wanted) });
  await edge.put({ ...wanted, version });
}

export async function forgetAtEdge({ edge }: Pick<Machine, 'edge'>, cluster: string): Promise<void> {
  toldTo(edge).delete(cluster);
  await edge.remove(cluster);
}

async function environmentOf(machine: Machine, deployed: Deployed, state: EnvironmentState): Promise<EdgeEnvironment> {
  const [instances, files] = await Promise.all([instancesAt(machine, deployed), filesAt(machine, deployed)]);
  return edgeEnvironmentOf(deployed.stack, { version: 0, state, instances, files, tls, hosts: deployed.hosts });
}

/** The instances that are ready, or have been: one that is being restarted will be ready again in a moment. */
async function instancesAt({ runtime }: Machine, { stack, generations }: Deployed): Promise<Record<string, Instance[]>> {
  const found = await Promise.all(
    runnablesOf(stack)
      .filter((runnable) => !isWorker(runnable))
      .map(async (runnable) => {
        const states = await Promise.all(instancesOf(stack, generations, runnable, {}).map(({ name }) => runtime.state(name)));
        const ready = states.flatMap((state) => {
          const address = addressOf(state);
          return address && ['running', 'paused', 'restarting'].includes(state.status) ? { id: state.name, address } : [];
        });
        return [runnable.name, ready] as const;
      }),
  );
  return Object.fromEntries(found);
}

/** The address of an instance: its socket, where it has one. */
function addressOf({ address, socket }: ContainerState): Instance['address'] | undefined {
  if (socket !== undefined) return { socket };
  return address === undefined ? undefined : { host: address, port: appPort };
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
