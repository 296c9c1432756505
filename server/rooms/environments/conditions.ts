/** What a deed can need of an environment beside the right state, each with what a caller is told where just this is missing. */
import { environmentLife } from './life-cycle.ts';
import type { Environment } from './queries.ts';

export interface Condition {
  holds(environment: Environment): boolean;
  /** Absent where the life cycle says it well enough. */
  otherwise?: (environment: Environment) => string;
}

export const hasCode: Condition = {
  holds: ({ has_code }) => has_code,
  otherwise: () => 'The environment has no code yet: push to it first.',
};

export const isQuiet: Condition = {
  holds: ({ is_dirty }) => !is_dirty,
  otherwise: () => 'An activity is pending or in progress in the environment: wait until it has ended.',
};

export const isNotOfDefaultBranch: Condition = {
  holds: ({ is_main }) => !is_main,
  otherwise: () =>
    'This is the environment of the default branch, which stays as long as the project: make another branch the default one first.',
};

export const hasParent: Condition = {
  holds: ({ parent }) => parent !== null,
  otherwise: () => 'The environment has no parent.',
};

export const parentHasCode: Condition = {
  holds: ({ parent_head }) => parent_head !== null,
  otherwise: ({ parent }) => `Its parent, ${parent}, has no code yet: push to it first.`,
};

export const hasDeployment: Condition = {
  holds: ({ has_deployment }) => has_deployment,
  otherwise: () => 'Nothing was deployed in the environment yet.',
};

export const isNotBeingBackedUp: Condition = {
  holds: ({ is_being_backed_up }) => !is_being_backed_up,
  otherwise: () => 'A backup of the environment is being made: wait until it is finished.',
};

export const areMet = (conditions: readonly Condition[], environment: Environment): boolean =>
  conditions.every(({ holds }) => holds(environment));

/** The one thing that stands in the way of an event: the state, or else the first condition that is not met. */
export function hindrance(environment: Environment, event: ToldEvent, conditions: readonly Condition[]): string {
  const { status } = environment;
  const unmet = environmentLife.possible(status, event) ? conditions.find(({ holds }) => !holds(environment)) : undefined;
  return unmet?.otherwise?.(environment) ?? environmentLife.otherwise(status, event);
}

/** An event that the life cycle has a sentence for. */
type ToldEvent = Parameters<typeof environmentLife.otherwise>[1];
