/** The logs of an environment's apps and workers. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Environment } from './resources.ts';

export interface Log extends Resource {
  /** The app and the name of the log, such as `app/access`. */
  id: string;
  app: string;
  name: string;
  bytes: number;
  updated_at: string;
}

export const logsQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'logs'],
    queryFn: ({ signal }) => request<readonly Log[]>('GET', hrefOf(environment, '#logs') ?? '', undefined, signal),
    enabled: hrefOf(environment, '#logs') !== undefined,
  });
