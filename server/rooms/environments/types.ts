/**
 * Which types an environment may have. Production is for the default branch alone; where a project has dedicated environments, they are staging or
 * production, the others are never production, and the default branch is nothing special. The first of each is what it gets unless told.
 */
import type { EnvironmentType } from '../../permissions.ts';

export interface Position {
  isDefaultBranch: boolean;
  isDedicated: boolean;
  /** Whether any environment of the project is dedicated. */
  projectIsDedicated: boolean;
}

type Kind = 'default branch' | 'other branch' | 'dedicated' | 'beside dedicated';

const allowed: Record<Kind, readonly [EnvironmentType, ...EnvironmentType[]]> = {
  'default branch': ['production'],
  'other branch': ['development', 'staging'],
  dedicated: ['production', 'staging'],
  'beside dedicated': ['development', 'staging'],
};

function kindOf({ isDefaultBranch, isDedicated, projectIsDedicated }: Position): Kind {
  if (isDedicated) return 'dedicated';
  if (projectIsDedicated) return 'beside dedicated';
  return isDefaultBranch ? 'default branch' : 'other branch';
}

export const allowedTypes = (position: Position) => allowed[kindOf(position)];
