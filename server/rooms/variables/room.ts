/** Variables of projects and environments. */
import type { Room } from '../../kernel/room.ts';
import * as activities from './activities.ts';
import * as environmentOperations from './environment-operations.ts';
import * as projectOperations from './project-operations.ts';

export { effectiveVariables, type EffectiveVariable } from './effective-variables.ts';
export { checkedVariables, GivenVariables, openGiven, sealGiven, withGiven } from './given-variables.ts';

const { addToEnvironment, modifyInEnvironment, deleteFromEnvironment, addToProject, modifyInProject, deleteFromProject } = activities;

export const variables: Room = {
  name: 'Variables',
  about: 'What builds and running applications are told, by project and by environment.',
  operations: { ...projectOperations, ...environmentOperations },
  activities: { addToEnvironment, modifyInEnvironment, deleteFromEnvironment, addToProject, modifyInProject, deleteFromProject },
};
