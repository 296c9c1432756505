/** What an environment runs at its times or when it is asked to: crons, tasks, and operations on what runs and on the code. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Environment } from './resources.ts';

export interface Cron extends Resource {
  id: string;
  app: string;
  name: string;
  spec: string;
  timezone: string;
  command: string;
  next_at: string | null;
  last_at: string | null;
  last_run: { activity: string; state: string; result: string | null; completed_at: string | null } | null;
}

export interface Task extends Resource {
  id: string;
  name: string;
  type: string;
  run: { command: string; timeout: number };
}

export interface SourceOperation {
  id: string;
  app: string;
  operation: string;
  command: string;
}

const listOf = <T>(project: string, environment: Environment, rel: string) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, rel.slice(1)],
    queryFn: ({ signal }) => request<readonly T[]>('GET', hrefOf(environment, rel) ?? '', undefined, signal),
    enabled: hrefOf(environment, rel) !== undefined,
  });

export const cronsQuery = (project: string, environment: Environment) => listOf<Cron>(project, environment, '#crons');
export const tasksQuery = (project: string, environment: Environment) => listOf<Task>(project, environment, '#tasks');
export const sourceOperationsQuery = (project: string, environment: Environment) =>
  listOf<SourceOperation>(project, environment, '#source-operations');
