/** Variables of environments: their own, and those that they inherit. */
import type { Room } from '../../kernel/room.ts';
import { addToEnvironment, deleteFromEnvironment, modifyInEnvironment } from './activities.ts';
import * as operations from './operations.ts';

export const environmentVariables: Room = {
  name: 'Environment variables',
  about: 'What builds and running applications of an environment are told, beside what its project and its ancestors tell them.',
  operations,
  activities: { addToEnvironment, modifyInEnvironment, deleteFromEnvironment },
};
