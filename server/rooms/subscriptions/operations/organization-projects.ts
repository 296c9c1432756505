import { Type } from 'typebox';
import { created, deleted, one, operation, page, stream, updated } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import type { Platform } from '../../../platform.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { updateProject } from '../change-project.ts';
import { createProject } from '../create-project.ts';
import { deleteProject } from '../delete-project.ts';
import { historyPage, ResourceEventEntity } from '../history.ts';
import { Plan, ProjectTitle } from '../options.ts';
import { OrganizationProjectEntity, organizationProjectOf } from '../organization-project.ts';
import { provisioningEvents, provisioningType } from '../provisioning.ts';
import { contractOf, projectsPage } from '../queries.ts';
import { learnProjects } from '../subscription.ts';

export const listOrganizationProjects = operation({
  summary: 'List the projects of an organization',
  endpoint: 'GET /organizations/{organization_id}/projects',
  on: OrganizationEntity,
  rel: 'projects',
  permission: 'organization:list-projects',
  returns: page(OrganizationProjectEntity, {
    sort: ['created_at', 'updated_at', 'id', 'region', 'title', 'type', 'plan', 'status'],
    filter: { id: 'string', title: 'string', status: 'string', updated_at: 'time', created_at: 'time' },
  }),
  handle: async ({ caller, target, list }, { db, config }) => {
    const found = await projectsPage(db, target.id, list);
    await learnProjects(
      db,
      caller,
      found.rows.map(({ project_id }) => project_id),
    );
    return { ...found, rows: found.rows.map((contract) => organizationProjectOf(contract, config)) };
  },
});

export const createOrganizationProject = operation({
  summary: 'Create a project in an organization',
  endpoint: 'POST /organizations/{organization_id}/projects',
  on: OrganizationEntity,
  rel: 'create-project',
  permission: 'organization:create-project',
  allowedWhen: ({ status }) => status === 'active',
  otherwise: 'The organization is not active; ask the operator of this installation.',
  body: closed({
    organization_id: Type.Optional(Type.String()),
    region: Type.String({ minLength: 1, maxLength: 253 }),
    title: Type.Optional(ProjectTitle),
    type: Type.Optional(Type.String({ enum: ['grid', 'dedicated'] })),
    plan: Type.Optional(Plan),
    default_branch: Type.Optional(
      Type.String({ maxLength: 250, description: 'The branch that is the production environment: `main`, if nothing is said.' }),
    ),
  }),
  returns: created(OrganizationProjectEntity),
  handle: async ({ caller, target, body }, platform) => {
    const { project } = await createProject(platform, caller, target, body);
    await learnProjects(platform.db, caller, [project.id]);
    return asOrganizationProject(project.id, platform);
  },
});

export const getOrganizationProject = operation({
  summary: 'Get a project of an organization',
  endpoint: 'GET /organizations/{organization_id}/projects/{project_id}',
  on: OrganizationProjectEntity,
  permission: 'contract:view',
  returns: one(OrganizationProjectEntity),
  handle: async ({ target }) => target,
});

export const updateOrganizationProject = operation({
  summary: 'Change the title, plan or time zone of a project',
  endpoint: 'PATCH /organizations/{organization_id}/projects/{project_id}',
  on: OrganizationProjectEntity,
  rel: 'update',
  permission: 'contract:edit',
  body: Type.Partial(Type.Object({ title: ProjectTitle, plan: Plan, timezone: Type.String({ maxLength: 100 }) }), {
    additionalProperties: false,
  }),
  example: { title: 'Shop', timezone: 'Europe/Amsterdam' },
  returns: updated(OrganizationProjectEntity),
  handle: async ({ caller, target, body }, platform) => {
    await updateProject(platform, caller, target.id, body);
    return asOrganizationProject(target.id, platform);
  },
});

export const removeOrganizationProject = operation({
  summary: 'Delete a project',
  endpoint: 'DELETE /organizations/{organization_id}/projects/{project_id}',
  on: OrganizationProjectEntity,
  rel: 'delete',
  permission: 'project:admin',
  returns: deleted,
  handle: async ({ caller, target }, platform) => {
    await deleteProject(platform, caller, target.id);
  },
});

export const streamProvisioning = operation({
  summary: 'Stream how the projects of an organization that are being made come along, until all have ended',
  endpoint: 'GET /organizations/{organization_id}/projects/provisioning',
  on: OrganizationEntity,
  permission: 'organization:list-projects',
  returns: stream(provisioningType),
  handle:
    async ({ target }, { db, logs }) =>
    (gone) =>
      provisioningEvents(db, logs, target.id, gone),
});

export const getProjectHistory = operation({
  summary: 'List what a project had of resources over time: each change, oldest first',
  endpoint: 'GET /organizations/{organization_id}/projects/{project_id}/history',
  on: OrganizationProjectEntity,
  permission: 'contract:view',
  returns: page(ResourceEventEntity, {
    sort: ['timestamp'],
    filter: { environment: 'string', resource: 'string', event_type: 'string', timestamp: 'time' },
  }),
  handle: ({ target, list }, { db }) => historyPage(db, target.organization_id, target.id, list),
});

async function asOrganizationProject(projectId: string, { db, config }: Platform) {
  const contract = await contractOf(db, projectId);
  if (!contract) throw new Error(`The project ${projectId} has no contract`);
  return organizationProjectOf(contract, config);
}
