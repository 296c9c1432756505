/** The backups of an environment. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Environment } from './resources.ts';

export interface Backup extends Resource {
  id: string;
  created_at: string | null;
  updated_at: string | null;
  status: 'CREATED' | 'DELETING';
  expires_at: string | null;
  index: number | null;
  commit_id: string;
  environment: string;
  safe: boolean;
  /** Megabytes, as all sizes here. */
  size_of_volumes: number | null;
  size_used: number | null;
  restorable: boolean;
  automated: boolean;
  is_damaged: boolean;
}

export const backupsQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'backups'],
    queryFn: ({ signal }) => request<readonly Backup[]>('GET', hrefOf(environment, 'backups') ?? '', undefined, signal),
    enabled: hrefOf(environment, 'backups') !== undefined,
  });
