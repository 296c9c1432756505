/** The variables of an environment, its own and inherited, and those of its project. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Environment, Project } from './resources.ts';

export interface Variable extends Resource {
  id: string;
  name: string;
  /** Absent where it is sensitive, or where the caller may not see where it comes from. */
  value?: string;
  is_json: boolean;
  is_sensitive: boolean;
  visible_build: boolean;
  visible_runtime: boolean;
  application_scope: readonly string[];
  updated_at: string;
}

export interface EnvironmentVariable extends Variable {
  inherited: boolean;
  inherited_from: string | null;
  is_enabled: boolean;
  is_inheritable: boolean;
}

export const environmentVariablesQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'variables'],
    queryFn: ({ signal }) => request<readonly EnvironmentVariable[]>('GET', hrefOf(environment, '#variables') ?? '', undefined, signal),
    enabled: hrefOf(environment, '#variables') !== undefined,
  });

/** Of a project that the caller may see as a whole; nothing where they may not. */
export const projectVariablesQuery = (project: Project | undefined) =>
  queryOptions({
    queryKey: ['projects', project?.id, 'variables'],
    queryFn: ({ signal }) => request<readonly Variable[]>('GET', hrefOf(project, '#variables') ?? '', undefined, signal),
    enabled: hrefOf(project, '#variables') !== undefined,
  });
