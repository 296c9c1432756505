/** What is built from a folder of the repository, each in the same way: apps, and tasks. */
import type { App, ProjectModel, Task } from './config/model.ts';

export type Buildable = App | Task;

const isTask = (built: Buildable): built is Task => 'run' in built;

/** By names of which none is used twice. */
export const buildablesIn = ({ applications, tasks }: ProjectModel): Buildable[] => [
  ...Object.values(applications),
  ...Object.values(tasks),
];

/** In sentences. */
export const kindOf = (built: Buildable) => (isTask(built) ? 'task' : 'application');
export const titleOf = (built: Buildable) => `${kindOf(built)} '${built.name}'`;

/** Paths of its own mounts and, of an app, of its workers'. */
export const mountPathsOf = (built: Buildable): string[] =>
  [built, ...(isTask(built) ? [] : Object.values(built.workers))].flatMap(({ mounts }) => Object.keys(mounts));
