/**
 * How large containers are. A profile says how much memory comes with how much of a CPU; a size picks one step of it. What people chose stays;
 * what is new in a deployment gets a size as `init` says.
 */
import type { Config } from '../../../config.ts';
import { isStorage, serviceOfType, usualProfileOf } from '../../../catalogue/catalogue.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { App, ContainerProfile, ProjectModel, Service, Task, WorkerDocument } from '../../builds/public.ts';
import type { ChosenSizes } from './chosen-sizes.ts';
import type { Size, SizeGroup, Sizes } from '../stack/stack.ts';
import { workersIn } from '../stack/workers.ts';

type Profile = Record<string, { cpu: number; memory: number; cpu_type: 'shared' }>;

/** CPU, and MB of memory for HIGH_CPU, BALANCED, HIGH_MEMORY and HIGHER_MEMORY. */
const steps = [
  ['0.1', 64, 352, 448, 864],
  ['0.25', 128, 640, 832, 1472],
  ['0.5', 224, 1088, 1408, 2368],
  ['1', 384, 1920, 2432, 3840],
  ['2', 704, 2800, 4032, 6336],
  ['4', 1216, 4800, 6720, 10_496],
  ['6', 1728, 6080, 9024, 14_080],
  ['8', 2240, 7296, 11_200, 17_408],
] as const;

const profile = (column: 1 | 2 | 3 | 4): Profile =>
  Object.fromEntries(steps.map((step) => [step[0], { cpu: Number(step[0]), memory: step[column], cpu_type: 'shared' }]));

/** The container profiles as the deployment document has them: by profile, then by size. */
export const containerProfiles: Record<ContainerProfile, Profile> = {
  HIGH_CPU: profile(1),
  BALANCED: profile(2),
  HIGH_MEMORY: profile(3),
  HIGHER_MEMORY: profile(4),
};

/** The profile of a container: the one in its configuration, or the usual one of its type. Types that are not offered any more get the most common one. */
export const profileOf = (type: string, container_profile: ContainerProfile | null): ContainerProfile =>
  container_profile ?? usualProfileOf(type) ?? 'HIGH_MEMORY';

const bytesPerMegabyte = 2 ** 20;

/** Throws when the profile has no such size: sizes are checked before they are stored. */
export function stepOf(container_profile: ContainerProfile, { profile_size }: Pick<Size, 'profile_size'>) {
  const step = containerProfiles[container_profile][profile_size];
  if (!step) throw new TypeError(`${container_profile} has no size ${profile_size}.`);
  return step;
}

export function limitsOf(container_profile: ContainerProfile, size: Pick<Size, 'profile_size'>) {
  const { cpu, memory } = stepOf(container_profile, size);
  return { cpu, memoryBytes: memory * bytesPerMegabyte };
}

const temporaryPerMemory = 4;
const temporaryBytes = { min: 2 ** 30, max: 8 * 2 ** 30 };

/**
 * The size of /tmp and all else that is removed with a container. It is apart from the container's disk, which is paid for and backed up, but is on the same pool, so it
 * grows with the container.
 */
export const temporaryBytesOf = (memoryBytes: number): number =>
  Math.min(Math.max(memoryBytes * temporaryPerMemory, temporaryBytes.min), temporaryBytes.max);

/** The size of a container's disk; undefined where the container has none. */
export const diskBytes = ({ disk }: Pick<Size, 'disk'>): number | undefined => (disk === null ? undefined : disk * bytesPerMegabyte);

/** Where new containers get their size from. */
export type SizesInit = 'default' | 'minimum' | 'parent' | 'manual' | 'child' | 'backup';

/** Where new containers get their sizes from unless somebody says otherwise. `parent` means `default` where there is no parent. */
export const usualInit = (
  { developmentSizes }: Pick<Config, 'developmentSizes'>,
  { type, sizes_by_hand }: { type: string; sizes_by_hand: boolean },
): Exclude<SizesInit, 'backup'> => (sizes_by_hand ? 'manual' : type === 'development' ? developmentSizes : 'parent');

export interface SizesFrom {
  /** The sizes that people chose since the last deployment; they take precedence over all others. */
  chosen?: ChosenSizes | undefined;
  /** The sizes of this environment until now: containers that it has keep theirs. */
  previous?: Sizes | undefined;
  /** The sizes of the environment whose data this one gets: disks are at least as large as there. */
  parent?: Sizes | undefined;
  /** The sizes of the environment that was merged into this one. */
  child?: Sizes | undefined;
  /** The sizes of the backup whose data this environment gets: disks are at least as large as there. */
  backup?: Sizes | undefined;
  init: SizesInit;
}

/**
 * Sizes for everything in the model, and for nothing else. Throws a Problem that names what has no size where sizes are set by hand.
 * `parent`, `child` and `backup` fall back to the default for containers that they do not have.
 */
export function sizesFor(model: ProjectModel, from: SizesFrom): Sizes {
  const { sizes, unsized } = sizesAsFarAs(model, from);
  if (unsized.length === 0) return sizes;
  throw new Problem(
    'conflict',
    `Invalid deployment: Resources must be configured for ${unsized.map((name) => `'${name}'`).join(', ')}. Set their sizes, and deploy again.`,
  );
}

/** Sizes for everything in the model whose size is known; the names of all others are in `unsized`. */
export function sizesAsFarAs(model: ProjectModel, from: SizesFrom): { sizes: Sizes; unsized: string[] } {
  const containers = containersIn(model);
  const unsized: string[] = [];
  const sizesOf = (group: SizeGroup) =>
    Object.fromEntries(
      containers[group].flatMap((container) => {
        const size = chosenSize(group, container, from);
        if (!size) unsized.push(container.name);
        const donors = [from.parent, from.backup].map((donor) => own(donor?.[group], container.name)?.disk ?? 0);
        return size ? [[container.name, withDisk(size, container, Math.max(...donors))]] : [];
      }),
    );
  const sizes = { services: sizesOf('services'), webapps: sizesOf('webapps'), workers: sizesOf('workers'), tasks: sizesOf('tasks') };
  return { sizes, unsized };
}

/** All that has a size, by the group in which the API speaks of it. */
export function containersIn(model: ProjectModel): Record<SizeGroup, Sized[]> {
  const owners = storageOwners(model);
  return {
    services: Object.values(model.services).map(sizedService),
    webapps: Object.values(model.applications).map((app) => sizedApp(app, owners)),
    workers: Object.values(workersIn(model)).map((worker) => sizedApp(worker, owners)),
    tasks: Object.values(model.tasks).map((task) => sizedTask(task, owners)),
  };
}

/** A container for which somebody chose a size counts as configured; what they did not choose is as usual. */
function chosenSize(group: SizeGroup, container: Sized, from: SizesFrom): Size | undefined {
  const chosen = own(from.chosen?.[group], container.name);
  const given = own(from.previous?.[group], container.name) ?? freshSize(group, container, from);
  if (chosen?.profile_size === undefined) return given && { ...given, ...chosen };
  return { ...(given ?? usual(container)), ...chosen, profile_size: chosen.profile_size };
}

const own = <T>(values: Record<string, T> | undefined, name: string): T | undefined =>
  values && Object.hasOwn(values, name) ? values[name] : undefined;

/** What decides the size of a container that has none yet. */
export interface Sized {
  name: string;
  type: string;
  container_profile: ContainerProfile | null;
  /** Whether the container has a disk. Required: always, because it keeps data. Optional: where it is given one. */
  keeps: 'required' | 'optional' | 'nothing';
  /** The size and disk that legacy files say. */
  size: App['size'];
  disk: number | null;
}

const diskMin = 256;
const diskUsual = 512;

const diskMinOf = (type: string) => Math.max(diskMin, serviceOfType(type)?.diskMin ?? 0);

/** The smallest size. `disk` is in MB: 0 where the container may have a disk, null where it cannot. */
export const minimum = ({ type, keeps }: Sized): Size => ({
  profile_size: '0.1',
  instance_count: 1,
  disk: keeps === 'nothing' ? null : keeps === 'optional' ? 0 : diskMinOf(type),
});

/** The size of containers for which nobody says one. `disk` is as in `minimum`. */
export const usual = ({ type, keeps }: Sized): Size => ({
  profile_size: '0.5',
  instance_count: 1,
  disk: keeps === 'nothing' ? null : keeps === 'optional' ? 0 : Math.max(diskUsual, diskMinOf(type)),
});

/** Sizes of the legacy files, in CPUs. */
const legacySizes: Record<App['size'], string | undefined> = {
  AUTO: undefined,
  XS: '0.25',
  S: '0.5',
  M: '1',
  L: '2',
  XL: '4',
  '2XL': '8',
  '4XL': '8',
};

function freshSize(group: SizeGroup, container: Sized, { init, parent, child, backup }: SizesFrom): Size | undefined {
  const { profile_size, instance_count, disk } = usual(container);
  const asConfigured = { profile_size: legacySizes[container.size] ?? profile_size, instance_count, disk: container.disk ?? disk };
  switch (init) {
    case 'manual':
      return undefined;
    case 'minimum':
      return minimum(container);
    case 'parent':
      return own(parent?.[group], container.name) ?? asConfigured;
    case 'child':
      return own(child?.[group], container.name) ?? asConfigured;
    case 'backup':
      return own(backup?.[group], container.name) ?? asConfigured;
    case 'default':
      return asConfigured;
  }
}

/** A disk has room for data that comes from the parent or from a backup. A required disk is never missing; an optional one of 0 MB counts as none. */
function withDisk(size: Size, container: Sized, donorDisk: number): Size {
  if (container.keeps === 'nothing') return { ...size, disk: null };
  const least = container.keeps === 'required' && !size.disk ? (usual(container).disk ?? 0) : 0;
  const disk = Math.max(size.disk ?? 0, donorDisk, least);
  return { ...size, disk: disk === 0 ? null : disk };
}

export const sizedService = ({ name, type, container_profile, size, disk }: Service): Sized => ({
  name,
  type,
  container_profile,
  keeps: isStorage(type) || serviceOfType(type)?.keepsData ? 'required' : 'nothing',
  size,
  disk,
});

export const sizedApp = ({ name, type, container_profile, size, disk }: App | WorkerDocument, owners: ReadonlySet<string>): Sized => ({
  name,
  type,
  container_profile,
  keeps: owners.has(name) ? 'required' : 'optional',
  size,
  disk,
});

/** Clients take tasks to be of this profile, unless they are told otherwise. */
export const profileOfTask = ({ container_profile }: Pick<Task, 'container_profile'>): ContainerProfile => container_profile ?? 'BALANCED';

/** A task has a disk only where it has mounts of its own, and always of the usual size: nobody chooses it. */
export const sizedTask = (task: Task, owners: ReadonlySet<string>): Sized => ({
  name: task.name,
  type: task.type,
  container_profile: profileOfTask(task),
  keeps: owners.has(task.name) ? 'required' : 'nothing',
  size: 'AUTO',
  disk: null,
});

/** The limits of a task. The memory that its own `resources` say takes precedence over that of its profile. */
export function taskLimits(task: Task, size: Pick<Size, 'profile_size'>) {
  const { resources } = task;
  const { cpu, memoryBytes } = limitsOf(profileOfTask(task), size);
  if (!resources) return { cpu, memoryBytes };
  return { cpu, memoryBytes: Math.floor(resources.base_memory + resources.memory_ratio * cpu) * bytesPerMegabyte };
}

/** Apps, workers and tasks that have a volume for mounts, whether their own or others'. */
export function storageOwners(model: ProjectModel): Set<string> {
  const containers = [...Object.values(model.applications), ...Object.values(workersIn(model)), ...Object.values(model.tasks)];
  return new Set(
    containers.flatMap(({ name, mounts }) =>
      Object.values(mounts)
        .filter(({ source }) => source === 'storage')
        .map(({ service }) => service ?? name),
    ),
  );
}
