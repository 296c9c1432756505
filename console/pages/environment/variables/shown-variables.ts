/** The variables that count in an environment, each with where its value comes from: of one name, the nearest counts as a whole. */
import type { EnvironmentVariable, Variable } from '../../../api/variable-queries.ts';

export interface ShownVariable {
  variable: Variable | EnvironmentVariable;
  origin: 'own' | 'ancestor' | 'project';
  /** The ancestor's name, where the caller may know it. */
  from?: string;
  /** What would be seen again if this one were deleted. */
  overrides?: 'project';
  isEnabled: boolean;
}

export function shownVariables(ofEnvironment: readonly EnvironmentVariable[], ofProject: readonly Variable[]): ShownVariable[] {
  const near = new Set(ofEnvironment.map(({ name }) => name));
  const far = new Set(ofProject.map(({ name }) => name));
  const nearest = ofEnvironment.map((variable): ShownVariable => ({
    variable,
    origin: variable.inherited ? 'ancestor' : 'own',
    ...(variable.inherited_from !== null && { from: variable.inherited_from }),
    ...(far.has(variable.name) && { overrides: 'project' }),
    isEnabled: variable.is_enabled,
  }));
  const rest = ofProject
    .filter(({ name }) => !near.has(name))
    .map((variable) => ({ variable, origin: 'project', isEnabled: true }) as const);
  return [...nearest, ...rest].toSorted((one, other) => one.variable.name.localeCompare(other.variable.name));
}
