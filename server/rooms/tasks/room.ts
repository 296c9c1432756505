/** Tasks: containers that run to their end when they are asked to. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { removeEndedTasks } from './reconcilers.ts';
import { runTaskActivity } from './run-task.ts';

export const tasks: Room = {
  name: 'Tasks',
  about: 'What an environment runs when it is asked to, and to its end.',
  operations,
  activities: { runTaskActivity },
  reconcilers: [removeEndedTasks],
};
