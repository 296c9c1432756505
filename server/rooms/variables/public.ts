/** What other rooms may use of variables: what one is, and with which an environment is deployed. */
export { VariableInput, variableSummary, type ToldVariable, type Verb } from './activities.ts';
export { effectiveVariables, type EffectiveVariable } from './effective-variables.ts';
export { checkedVariables, GivenVariables, openGiven, sealGiven, withGiven } from './given-variables.ts';
export { isForRegistries, registryCredentials } from './registry-credentials.ts';
export { refuseTooMuch } from './limits.ts';
export { lineOf, nameIsTaken, takeVariables, type Usage } from './queries.ts';
export { amendedColumns, columnsOf, nameAndValue, shown, variableFields, VariableId, variableInput, type Change } from './variable.ts';
