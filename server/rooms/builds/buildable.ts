/** What is built from a folder of the repository, each in the same way: apps, and tasks. */
import type { App, ProjectModel, Task } from './config/model.ts';

export type Buildable = App | Task;

const isTask = (built: Buildable): built is Task => 'run' in built;

/** All apps and tasks; no two of them have the same name. */
export const buildablesIn = ({ applications, tasks }: ProjectModel): Buildable[] => [
  ...Object.values(applications),
  ...Object.values(tasks),
];

/** The word for it in sentences. */
export const kindOf = (built: Buildable) => (isTask(built) ? 'task' : 'application');
export const titleOf = (built: Buildable) => `${kindOf(built)} '${built.name}'`;

/** The paths of all its mounts; for an app, those of its workers included. */
export const mountPathsOf = (built: Buildable): string[] =>
  [built, ...(isTask(built) ? [] : Object.values(built.workers))].flatMap(({ mounts }) => Object.keys(mounts));
