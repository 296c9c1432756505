import { Type } from 'typebox';
import { created, deleted, one, operation, page, updated } from '../../../kernel/operation.ts';
import { closed, nullable } from '../../../kernel/schema.ts';
import type { Platform } from '../../../platform.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { updateProject } from '../change-project.ts';
import { createProject } from '../create-project.ts';
import { deleteProject } from '../delete-project.ts';
import { contractOptions, Environments, Plan, ProjectTitle, Storage } from '../options.ts';
import { contractOf, contractsPage } from '../queries.ts';
import { findSubscription, learnProjects, SubscriptionEntity, subscriptionOf } from '../subscription.ts';

export const listSubscriptions = operation({
  summary: 'List the subscriptions of an organization: the contracts of its projects',
  endpoint: 'GET /organizations/{organization_id}/subscriptions',
  on: OrganizationEntity,
  rel: 'subscriptions',
  permission: 'organization:list-projects',
  returns: page(SubscriptionEntity, {
    sort: ['created_at', 'updated_at', 'region', 'project_title', 'type', 'plan', 'status'],
    filter: { status: 'string', id: 'string', project_id: 'string', project_title: 'string', region: 'string', updated_at: 'time' },
  }),
  handle: async ({ caller, target, list }, { db, config }) => {
    const found = await contractsPage(db, target.id, list);
    await learnProjects(
      db,
      caller,
      found.rows.map(({ project_id }) => project_id),
    );
    return { ...found, rows: found.rows.map((contract) => subscriptionOf(contract, config)) };
  },
});

const addressCharactersMax = 2000;
const optional = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) => Type.Optional(nullable(schema));

const fieldNames = {
  region: 'project_region',
  title: 'project_title',
  'initialize.repository': 'options_custom.initialize.repository',
  'initialize.config': 'options_custom.initialize.config',
};

export const createSubscription = operation({
  summary: 'Create a project',
  endpoint: 'POST /organizations/{organization_id}/subscriptions',
  on: OrganizationEntity,
  rel: 'create-subscription',
  permission: 'organization:create-project',
  allowedWhen: ({ status }) => status === 'active',
  otherwise: 'The organization is not active; ask the operator of this installation.',
  body: closed({
    project_region: Type.String({ minLength: 1, maxLength: 253 }),
    project_title: optional(ProjectTitle),
    plan: optional(Plan),
    default_branch: optional(Type.String({ maxLength: 250 })),
    environments: optional(Environments),
    storage: optional(Storage),
    organization_id: Type.Optional(Type.String()),
    options_url: optional(Type.String({ maxLength: addressCharactersMax })),
    options_custom: Type.Optional(
      nullable(
        Type.Object({
          initialize: Type.Optional(
            Type.Object({
              profile: Type.Optional(Type.String({ maxLength: 250 })),
              repository: Type.Optional(Type.String({ minLength: 1, maxLength: addressCharactersMax })),
              config: Type.Optional(nullable(Type.String({ maxLength: addressCharactersMax }))),
            }),
          ),
        }),
      ),
    ),
  }),
  returns: created(SubscriptionEntity),
  handle: async ({ caller, target, body }, platform) => {
    const { project_region, project_title, options_custom, ...others } = body;
    const wanted = { ...others, region: project_region, title: project_title, initialize: options_custom?.initialize };
    const { project } = await createProject(platform, caller, target, wanted, fieldNames);
    await learnProjects(platform.db, caller, [project.id]);
    return asSubscription(project.id, platform);
  },
});

export const getSubscription = operation({
  summary: 'Get a subscription',
  endpoint: 'GET /organizations/{organization_id}/subscriptions/{subscription_id}',
  on: SubscriptionEntity,
  find: findSubscription,
  permission: 'contract:view',
  returns: one(SubscriptionEntity),
  handle: async ({ target }) => target,
});

export const updateSubscription = operation({
  summary: 'Change a subscription: the title, time zone, plan and sizes of its project',
  endpoint: 'PATCH /organizations/{organization_id}/subscriptions/{subscription_id}',
  on: SubscriptionEntity,
  find: findSubscription,
  rel: 'edit',
  permission: 'contract:edit',
  body: Type.Partial(
    Type.Object({
      project_title: ProjectTitle,
      timezone: Type.String({ maxLength: 100 }),
      plan: Plan,
      environments: Environments,
      storage: Storage,
      ...contractOptions,
    }),
    { additionalProperties: false },
  ),
  example: { project_title: 'Shop', timezone: 'Europe/Amsterdam', storage: 10_240 },
  returns: updated(SubscriptionEntity),
  handle: async ({ caller, target, body }, platform) => {
    const { project_title: title, timezone, plan, environments, storage, ...contract_options } = body;
    await updateProject(platform, caller, target.project_id, {
      ...(title !== undefined && { title }),
      ...(timezone !== undefined && { timezone }),
      ...(plan !== undefined && { plan }),
      ...(environments !== undefined && { environments }),
      ...(storage !== undefined && { storage }),
      ...(Object.keys(contract_options).length > 0 && { contract_options }),
    });
    return asSubscription(target.project_id, platform);
  },
});

export const removeSubscription = operation({
  summary: 'Delete a subscription, and with it its project',
  endpoint: 'DELETE /organizations/{organization_id}/subscriptions/{subscription_id}',
  on: SubscriptionEntity,
  find: findSubscription,
  rel: 'delete',
  permission: 'project:admin',
  returns: deleted,
  handle: async ({ caller, target }, platform) => {
    await deleteProject(platform, caller, target.project_id);
  },
});

async function asSubscription(projectId: string, { db, config }: Platform) {
  const contract = await contractOf(db, projectId);
  if (!contract) throw new Error(`The project ${projectId} has no contract`);
  return subscriptionOf(contract, config);
}
