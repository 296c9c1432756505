/**
 * A machine on which nothing really runs: containers are what was last said of them, volumes are folders, images are names. Whole deployments go through
 * in milliseconds, for tests that ask what the platform does and not whether a container can do it.
 */
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Images } from '../drivers/images/images.ts';
import type { Container, ContainerState, Runtime } from '../drivers/runtime/runtime.ts';
import type { Volume, Volumes } from '../drivers/volumes/volumes.ts';
import { Problem } from '../kernel/problem.ts';
import type { Machine } from '../machine.ts';
import { openMemoryEdge, type MemoryEdge } from './memory-edge.ts';

export interface MemoryMachine extends Machine {
  readonly edge: MemoryEdge;
  /** The next new container will not start. */
  failNextStart(): void;
  /** Takes back `failNextStart`. */
  startWell(): void;
}

const notNeeded = () => Promise.reject(new Error('Not needed here.'));

/** `folder` has the volumes and the logs. */
export function openMemoryMachine(folder: string): MemoryMachine {
  let fails = false;
  const refuseStart = () => {
    if (!fails) return;
    fails = false;
    throw new Problem('unavailable', 'A test keeps this from starting.');
  };
  return {
    runtime: openMemoryRuntime(refuseStart),
    images: openMemoryImages(),
    volumes: openMemoryVolumes(join(folder, 'volumes')),
    edge: openMemoryEdge(),
    tls: false,
    logs: join(folder, 'logs'),
    failNextStart: () => (fails = true),
    startWell: () => (fails = false),
  };
}

function openMemoryRuntime(refuseStart: () => void): Runtime {
  const containers = new Map<string, ContainerState>();
  const absent = (name: string): ContainerState => ({ name, status: 'absent', restarts: 0 });
  return {
    ensure: async ({ name, network, layers }: Container) => {
      const known = containers.get(name);
      if (known) return known;
      refuseStart();
      const state: ContainerState = { name, status: 'running', network, layers, address: '192.0.2.1', startedAt: new Date(), restarts: 0 };
      containers.set(name, state);
      return state;
    },
    remove: async (name) => void containers.delete(name),
    state: async (name) => containers.get(name) ?? absent(name),
    list: async () => [...containers.values()],
    exec: notNeeded,
    // oxlint-disable-next-line require-yield -- nobody says anything
    logs: async function* () {},
    stats: notNeeded,
    statistics: async () => [],
    pause: async () => {},
    resume: async () => {},
    update: async () => {},
    updateOutbound: async () => {},
    updateFiles: async () => {},
    admit: async () => {},
    containerAt: async () => undefined,
    removeLeftovers: async () => [],
    close: async () => {},
  };
}

function openMemoryImages(): Images {
  const image = async (type: string) => ({ type, hash: type, layers: [`/layers/${type}`], bytes: 0 });
  return {
    bring: notNeeded,
    fetchLayout: notNeeded,
    ensure: image,
    built: image,
    collect: async () => [],
    bytes: () => ({ taken: 0, collectable: 0 }),
    update: async () => ({ packages: [], types: [] }),
    bringAhead: async () => {},
    ahead: () => ({ brought: {} }),
    secondsSinceUpdate: () => undefined,
  };
}

const poolBytes = 2 ** 40;

function openMemoryVolumes(folder: string): Volumes {
  const volumes = new Map<string, Volume>();
  const made = (name: string, bytesMax: number, isSnapshot = false): Volume => {
    const volume = { name, path: join(folder, name), bytesMax, isSnapshot };
    volumes.set(name, volume);
    return volume;
  };
  const copied = async (from: string, name: string, bytesMax: number | undefined, isSnapshot: boolean) => {
    const source = volumes.get(from);
    if (!source) throw new Error(`There is no volume ${from}`);
    await cp(source.path, join(folder, name), { recursive: true });
    return volumes.get(name) ?? made(name, bytesMax ?? source.bytesMax, isSnapshot);
  };
  const remove = async (name: string) => {
    volumes.delete(name);
    await rm(join(folder, name), { recursive: true, force: true });
  };
  const usage = async (name: string) => ({ bytes: 0, exclusiveBytes: 0, bytesMax: volumes.get(name)?.bytesMax ?? 0 });
  return {
    create: async (name, bytesMax) => {
      await mkdir(join(folder, name), { recursive: true });
      return volumes.get(name) ?? made(name, bytesMax);
    },
    clone: (from, name, bytesMax) => copied(from, name, bytesMax, false),
    snapshot: (from, name) => copied(from, name, undefined, true),
    restore: async (name, snapshot) => {
      const { bytesMax } = volumes.get(name) ?? {};
      await remove(name);
      return copied(snapshot, name, bytesMax, false);
    },
    remove,
    volume: async (name) => volumes.get(name),
    list: async () => [...volumes.values()],
    usage,
    usages: async () => new Map(),
    grow: async (name, bytesMax) => {
      const volume = volumes.get(name);
      if (volume) volumes.set(name, { ...volume, bytesMax });
    },
    keepLimits: async () => {},
    capacity: async () => ({ bytes: poolBytes, freeBytes: poolBytes }),
    removeLeftovers: async () => [],
    settle: async () => {},
    removeInterrupted: async () => [],
    folder,
    kind: 'copy',
    enforcesLimits: false,
    clonesWhileWritten: true,
    close: async () => {},
  };
}
