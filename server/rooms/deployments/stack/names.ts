/**
 * What things of a stack are called on the machine. All carry the stack's id, so that whatever is found can be told to whom it belongs, and
 * nothing else is ever removed.
 */
import { createHash } from 'node:crypto';
import { nameOfType } from '../../../catalogue/catalogue.ts';

const labelCharactersMax = 24;
const hashCharacters = 8;

/** A name from the configuration, for places that take only a few letters, digits and dashes: unchanged where it fits, else with a hash that keeps it unique. */
export function labelOf(name: string): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= labelCharactersMax) return name;
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, labelCharactersMax - hashCharacters - 1)
    .replaceAll(/^-+|-+$/g, '');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashCharacters);
  return readable === '' ? hash : `${readable}-${hash}`;
}

export const serviceContainer = (stackId: string, service: string) => `${stackId}-service-${labelOf(service)}`;
/** Sets up the volume of a service before its first start. */
export const setupContainer = (stackId: string, service: string) => `${stackId}-setup-${labelOf(service)}`;
/** `generation`: the number of the deployment that the instance was started for, so that old and new instances can stand side by side. */
export const instanceContainer = (stackId: string, name: string, generation: number, index: number) =>
  `${stackId}-app-${labelOf(name)}-${generation}-${index}`;
/** For commands of an app that has no instance to run them in, or none yet. */
export const onceContainer = (stackId: string, app: string) => `${stackId}-once-${labelOf(app)}`;

/** The container of one run of a task. Deployments neither make nor remove containers of this name. */
export const taskContainer = (stackId: string, activityId: string) => `${stackId}-task-${activityId}`;
/** The activity that runs the task in a container; undefined where the name is not that of a task's container. */
export const activityOfTask = (name: string): string | undefined => /^[a-z2-7]{13}-task-([a-z0-9]+)$/.exec(name)?.[1];

/** A service of another type has another volume, because one type cannot read the data of another. */
export const dataVolume = (stackId: string, service: string, type: string) =>
  `stack-${stackId}-data-${labelOf(service)}-${nameOfType(type)}`;
/** The volume for mounts of an app, or of a worker (`<app>--<worker>`). */
export const storageVolume = (stackId: string, owner: string) => `stack-${stackId}-storage-${labelOf(owner)}`;
/**
 * Snapshots of what the volume held before its data was replaced, and of the data that replaces it; data from elsewhere is gathered first. None of them
 * outlives the activity.
 */
export const beforeSnapshot = (volume: string) => volume.replace(/^stack-/, 'before-');
export const incomingSnapshot = (volume: string) => volume.replace(/^stack-/, 'incoming-');
export const arrivingVolume = (volume: string) => volume.replace(/^stack-/, 'arriving-');
export const isPassing = (volume: string) => /^(?:before|incoming|arriving)-/.test(volume);
/** The part of a volume's name that is the same in every stack: `data-db-postgresql`. */
export const nameInStack = (volume: string) => volume.replace(/^stack-[a-z2-7]+-/, '');

/** The read-only copy of a volume that a backup has until it is stored. It belongs to the backup, whatever becomes of the stack. */
export const backupSnapshot = (backup: string, part: string) => `backup-${backup.toLowerCase()}-${part}`;
export const backupOfSnapshot = (name: string): string | undefined => /^backup-([0-9a-z]{26})-[a-z0-9-]+$/.exec(name)?.[1]?.toUpperCase();

/** The stack that a container belongs to; undefined where deployments make no container of that name. */
export const stackOfContainer = (name: string): string | undefined =>
  /^([a-z2-7]{13})-(?:service|setup|app|once)-[a-z0-9-]+$/.exec(name)?.[1];

/** What the name of a stack's container says; undefined where no stack has a container of that name. */
export function partsOfContainer(
  name: string,
): { stackId: string; of: 'service' | 'app' | 'task'; label: string; index: number } | undefined {
  const [, stackId = '', kind = '', rest = ''] = /^([a-z2-7]{13})-(service|setup|app|once|task)-([a-z0-9-]+)$/.exec(name) ?? [];
  if (kind === 'app') {
    const [, label = '', index = ''] = /^(.+)-\d+-(\d+)$/.exec(rest) ?? [];
    return label === '' ? undefined : { stackId, of: 'app', label, index: Number(index) };
  }
  const of = ({ service: 'service', setup: 'service', once: 'app', task: 'task' } as const)[kind];
  return of && { stackId, of, label: rest, index: 0 };
}

/**
 * The stack that a volume belongs to. Names of slugs begin with the id of a project, which looks like that of a stack, so names of volumes begin with a
 * word. Logs used to be on a volume, too, which goes with its stack.
 */
export const stackOfVolume = (name: string): string | undefined =>
  /^(?:stack|before|incoming|arriving)-([a-z2-7]{13})-(?:logs|(?:data|storage)-[a-z0-9-]+)$/.exec(name)?.[1];
