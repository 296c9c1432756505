/** What a variable is, those of projects, and what an environment is deployed with in the end. */
import type { Room } from '../../kernel/room.ts';
import { addToProject, deleteFromProject, modifyInProject } from './activities.ts';
import * as operations from './operations.ts';

export const variables: Room = {
  name: 'Variables',
  about: 'What builds and running applications of a project are told, whichever the environment.',
  operations,
  activities: { addToProject, modifyInProject, deleteFromProject },
};
