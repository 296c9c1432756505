/** Sizes as people ask for them, and what of it can be had. All that cannot is told at once, each by its field. */
import { nameOfType } from '../../../catalogue/catalogue.ts';
import { Type, type Static } from 'typebox';
import { Problem } from '../../../kernel/problem.ts';
import { closed } from '../../../kernel/schema.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { sizeGroups, type ChosenSizes } from './chosen-sizes.ts';
import { containerProfiles, containersIn, minimum, profileOf, type Sized } from './sizes.ts';
import type { Size, SizeGroup, Sizes } from '../stack/stack.ts';

const diskMegabytesMax = 16 * 2 ** 20;
const containersMax = 200;

const ContainerChange = closed({
  resources: Type.Optional(closed({ profile_size: Type.Optional(Type.String({ maxLength: 10, description: 'Of its profile: `0.5`.' })) })),
  instance_count: Type.Optional(Type.Integer({ minimum: 1, description: 'Of applications and workers.' })),
  disk: Type.Optional(Type.Integer({ minimum: 0, maximum: diskMegabytesMax, description: 'MB. Disks only grow.' })),
});
type ContainerChange = Static<typeof ContainerChange>;

const changes = Type.Optional(
  Type.Unsafe<Record<string, ContainerChange>>({ type: 'object', additionalProperties: ContainerChange, maxProperties: containersMax }),
);

/** A change of sizes; containers and fields that it does not name stay as they are. */
export const ResourcesChange = closed({ webapps: changes, services: changes, workers: changes, tasks: changes });
export type ResourcesChange = Static<typeof ResourcesChange>;

export interface Bounds {
  instancesMax: number;
  /** Apps and workers whose number of instances the platform chooses. */
  autoscaled: ReadonlySet<string>;
  /** Disks that hold data now, or are about to. */
  disks: Sizes | undefined;
}

const groupNames: Record<SizeGroup, string> = { services: 'service', webapps: 'application', workers: 'worker', tasks: 'task' };

export function checkedSizes(model: ProjectModel, change: ResourcesChange, bounds: Bounds): ChosenSizes {
  const mistakes: Record<string, string> = {};
  const containers = containersIn(model);
  const chosen = sizeGroups.map((group) => {
    const sizes = Object.entries(change[group] ?? {}).map(([name, wanted]) => {
      const sized = containers[group].find((container) => container.name === name);
      const field = `${group}.${name}`;
      if (!sized) mistakes[field] = `does not name any ${groupNames[group]} of this environment${knownNames(containers[group])}`;
      else Object.assign(mistakes, mistakesIn(field, group, sized, wanted, bounds));
      return [name, chosenOf(wanted)] as const;
    });
    return [group, Object.fromEntries(sizes)] as const;
  });
  refuse(mistakes);
  if (chosen.every(([, sizes]) => Object.values(sizes).every((size) => Object.keys(size).length === 0)))
    throw new Problem(
      'invalid-request',
      'Nothing is chosen: name at least one size, instance count or disk under webapps, services, workers or tasks.',
    );
  return Object.fromEntries(chosen);
}

const knownNames = (containers: readonly Sized[]) =>
  containers.length === 0 ? '; there is none' : `; choose from ${containers.map(({ name }) => name).join(', ')}`;

const chosenOf = ({ resources, instance_count, disk }: ContainerChange): Partial<Size> => ({
  ...(resources?.profile_size !== undefined && { profile_size: resources.profile_size }),
  ...(instance_count !== undefined && { instance_count }),
  ...(disk !== undefined && { disk }),
});

function mistakesIn(field: string, group: SizeGroup, sized: Sized, wanted: ContainerChange, bounds: Bounds) {
  const { resources, instance_count, disk } = wanted;
  const found = {
    [`${field}.resources.profile_size`]: sizeMistake(sized, resources?.profile_size),
    [`${field}.instance_count`]: instance_count === undefined ? undefined : countMistake(group, sized, instance_count, bounds),
    [`${field}.disk`]: disk === undefined ? undefined : diskMistake(group, sized, disk, bounds.disks?.[group][sized.name]?.disk ?? 0),
  };
  return Object.fromEntries(Object.entries(found).filter(([, mistake]) => mistake !== undefined));
}

function sizeMistake(sized: Sized, size: string | undefined): string | undefined {
  const profile = profileOf(sized.type, sized.container_profile);
  const steps = containerProfiles[profile];
  const least = Number(minimum(sized).profile_size);
  if (size === undefined || (Object.hasOwn(steps, size) && (steps[size]?.cpu ?? 0) >= least)) return undefined;
  const sizes = Object.values(steps).map(({ cpu }) => cpu);
  const possible = sizes.filter((cpu) => cpu >= least).sort((a, b) => a - b);
  return `must be one of the sizes of ${profile}: ${possible.join(', ')}`;
}

function countMistake(group: SizeGroup, { name }: Sized, count: number, { instancesMax, autoscaled }: Bounds): string | undefined {
  if (group === 'services') return 'cannot be set: a service has one instance';
  if (group === 'tasks') return 'cannot be set: a task has one container, while it runs';
  if (autoscaled.has(name)) return 'cannot be set while autoscaling is on: change its bounds there, or switch its triggers off first';
  return count > instancesMax ? `must be at most ${instancesMax}` : undefined;
}

function diskMistake(group: SizeGroup, sized: Sized, disk: number, has: number): string | undefined {
  if (group === 'tasks') return 'cannot be set: the platform decides the size of a task’s disk';
  const least = minimum(sized).disk;
  if (least === null) return `cannot be set: ${nameOfType(sized.type)} keeps nothing on a disk`;
  if (disk < least) return `must be at least ${least} MB`;
  return disk < has ? `cannot be less than the ${has} MB that it has: the data on a disk may need the room, so disks only grow` : undefined;
}

function refuse(fields: Record<string, string>) {
  const sentences = Object.entries(fields).map(([field, mistake]) => `${field} ${mistake}.`);
  if (sentences.length > 0) throw new Problem('invalid-request', sentences.join(' '), { fields });
}
