/**
 * What things of a stack are called on the machine. All carry the stack's id, so that whatever is found can be told to whom it belongs, and
 * nothing else is ever removed.
 */
import { createHash } from 'node:crypto';
import { nameOfType } from './sizes.ts';

const labelCharactersMax = 24;
const hashCharacters = 8;

/** A name of people's files where only letters, digits and dashes will do: the same where it already is that, unmistakable where it is not. */
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
/** `generation`: the number of the deployment that it was started for, so that old and new can stand side by side. */
export const instanceContainer = (stackId: string, name: string, generation: number, index: number) =>
  `${stackId}-app-${labelOf(name)}-${generation}-${index}`;
/** For commands of an app that has no instance to run them in, or none yet. */
export const onceContainer = (stackId: string, app: string) => `${stackId}-once-${labelOf(app)}`;

/** Another type is another volume: what was kept for one means nothing to the other. */
export const dataVolume = (stackId: string, service: string, type: string) =>
  `stack-${stackId}-data-${labelOf(service)}-${nameOfType(type)}`;
/** Of an app, or of a worker (`<app>--<worker>`). */
export const storageVolume = (stackId: string, owner: string) => `stack-${stackId}-storage-${labelOf(owner)}`;
/** What the volume held before its data was replaced, and what it is replaced with; neither outlives the activity. */
export const beforeSnapshot = (volume: string) => volume.replace(/^stack-/, 'before-');
export const incomingSnapshot = (volume: string) => volume.replace(/^stack-/, 'incoming-');
export const isPassing = (volume: string) => /^(?:before|incoming)-/.test(volume);

/** The stack that a container belongs to; undefined where the name is none that is made here. */
export const stackOfContainer = (name: string): string | undefined =>
  /^([a-z2-7]{13})-(?:service|setup|app|once)-[a-z0-9-]+$/.exec(name)?.[1];

/**
 * The same of a volume. Slugs begin with the id of a project, which looks like that of a stack: hence the word before it. Logs have been on a volume,
 * too, which goes with its stack.
 */
export const stackOfVolume = (name: string): string | undefined =>
  /^(?:stack|before|incoming)-([a-z2-7]{13})-(?:logs|(?:data|storage)-[a-z0-9-]+)$/.exec(name)?.[1];
