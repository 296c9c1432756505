/** What a project had of resources over time, as metering wrote it down. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import { Time } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { OrganizationAddress } from '../organizations/public.ts';
import { OrganizationProjectEntity } from './organization-project.ts';

export interface ResourceEvent {
  organization_id: string;
  id: string;
  project_id: string;
  event_type: string;
  event_id: string;
  resource: string;
  environment: string;
  quantity: string;
  timestamp: string;
  user: string;
}

/** An event has no address of its own: it is found in its list. */
export const ResourceEventEntity = entity({
  name: 'resource event',
  path: '/organizations/{organization_id}/projects/{project_id}/history',
  params: { organization_id: OrganizationAddress, project_id: ProjectId },
  schema: Type.Object({
    id: Type.String(),
    project_id: ProjectId,
    event_type: Type.String({ description: 'What changed it: deployment, or backups.' }),
    event_id: Type.String({ description: 'Of the deployment, if there was one.' }),
    resource: Type.String({ description: 'As in current_usage.' }),
    environment: Type.String({ description: 'Its machine name; empty: the project as a whole.' }),
    quantity: Type.String({ description: 'How much there was of it from then on: CPUs, or GB.' }),
    timestamp: Time,
    user: Type.String({ description: 'The id of who deployed; empty where nobody did, such as when an environment falls asleep.' }),
  }),
  address: ({ organization_id, project_id }: ResourceEvent) => ({ organization_id, project_id }),
  scope: ({ organization_id, project_id }) => ({ organization: organization_id, project: project_id }),
  view: 'contract:view',
  load: async (address, platform) => {
    const project = await OrganizationProjectEntity.load(address, platform);
    return project && (await historyOf(platform.db, project.organization_id, project.id).executeTakeFirst());
  },
});

const historyOf = (db: Db, organizationId: string, projectId: string) =>
  db
    .selectFrom(
      sql<ResourceEvent>`(
        select ${organizationId}::text as organization_id, id::text, project_id, event_type, event_id, resource, environment,
          quantity, happened_at as timestamp, coalesce(user_id::text, '') as "user"
        from resource_history where project_id = ${projectId})`.as('history'),
    )
    .selectAll();

export const historyPage = (db: Db, organizationId: string, projectId: string, list: ListRequest): Promise<Page<ResourceEvent>> =>
  paged(historyOf(db, organizationId, projectId), list, 'id');
