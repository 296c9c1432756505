/** What a variable is, those of projects, and what an environment is deployed with in the end. */
import type { Room } from '../../kernel/room.ts';
import { addToProject, deleteFromProject, modifyInProject } from './activities.ts';
import * as operations from './operations.ts';

export { VariableInput, variableSummary, type ToldVariable, type Verb } from './activities.ts';
export { effectiveVariables, type EffectiveVariable } from './effective-variables.ts';
export { checkedVariables, GivenVariables, openGiven, sealGiven, withGiven } from './given-variables.ts';
export { refuseTooMuch } from './limits.ts';
export { lineOf, nameIsTaken, takeVariables, type Usage } from './queries.ts';
export { amendedColumns, columnsOf, nameAndValue, shown, variableFields, VariableId, variableInput, type Change } from './variable.ts';

export const variables: Room = {
  name: 'Variables',
  about: 'What builds and running applications of a project are told, whichever the environment.',
  operations,
  activities: { addToProject, modifyInProject, deleteFromProject },
};
