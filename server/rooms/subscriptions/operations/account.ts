/** What older clients ask for without naming an organization: the account with its projects, and the contracts of these. */
import { Type } from 'typebox';
import type { Config } from '../../../config.ts';
import { one, operation, page, plain } from '../../../kernel/operation.ts';
import { inMilliseconds, Time, Uuid } from '../../../kernel/schema.ts';
import { projectIdsOf } from '../../access/public.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { RegionEntity, regionsOf } from '../../regions/public.ts';
import { displayName, sshKeyFields, sshKeysOf } from '../../users/public.ts';
import { allContractsIn, contractsIn, type Contract } from '../queries.ts';
import { findSubscriptionById, learnProjects, SubscriptionEntity, subscriptionOf } from '../subscription.ts';

/** The released clients get as many projects in other ways. */
const projectsMax = 1000;

const text = Type.String();
const number = Type.Integer();

const ProjectOfAccount = Type.Object({
  id: text,
  name: text,
  title: text,
  cluster: text,
  cluster_label: text,
  region: text,
  region_label: text,
  uri: text,
  endpoint: Type.String({ description: 'The address of the project in the API.' }),
  license_id: number,
  owner: Uuid,
  owner_info: Type.Object({ type: text, username: text, display_name: text }),
  organization_id: text,
  plan: text,
  subscription_id: number,
  status: text,
  vendor: text,
  vendor_label: text,
  created_at: Time,
});

export const getCurrentUserDeprecated = operation({
  summary: 'Get the current user with their SSH keys and projects',
  endpoint: 'GET /me',
  deprecated: true,
  permission: 'signed-in',
  returns: plain(
    Type.Object({
      id: Uuid,
      uuid: Uuid,
      username: text,
      display_name: text,
      status: Type.Integer({ description: '0 blocked, 1 active' }),
      mail: text,
      ssh_keys: Type.Array(Type.Object(sshKeyFields)),
      has_key: Type.Boolean(),
      projects: Type.Array(ProjectOfAccount),
      sequence: number,
      roles: Type.Array(text),
      picture: Type.Optional(text),
      tickets: Type.Object({}),
    }),
  ),
  handle: async ({ caller: { user } }, { db, config }) => {
    const keys = await sshKeysOf(db, user.id);
    const contracts = await allContractsIn(db, await projectIdsOf(db, user.id, projectsMax));
    return {
      id: user.id,
      uuid: user.id,
      username: user.username,
      display_name: displayName(user),
      status: user.deactivated ? 0 : 1,
      mail: user.email,
      ssh_keys: keys.map((key) => ({ ...key, changed: inMilliseconds(key.changed) })),
      has_key: keys.length > 0,
      projects: contracts.map((contract) => projectOfAccount(contract, config)),
      sequence: user.uid,
      roles: user.is_operator ? ['operator'] : [],
      ...(user.picture && { picture: user.picture }),
      tickets: {},
    };
  },
});

function projectOfAccount(contract: Contract, config: Config) {
  const { id, project_title, project_region, project_region_label, project_endpoint, created_at, ...told } = subscriptionOf(
    contract,
    config,
  );
  return {
    ...told,
    id: told.project_id,
    name: told.project_id,
    title: project_title,
    cluster: project_region,
    cluster_label: project_region_label,
    region: project_region,
    region_label: project_region_label,
    uri: project_endpoint,
    endpoint: project_endpoint,
    license_id: Number(id),
    subscription_id: Number(id),
    vendor_label: told.vendor,
    created_at: inMilliseconds(created_at),
  };
}

export const listAllSubscriptions = operation({
  summary: "List the subscriptions of the caller's projects",
  endpoint: 'GET /subscriptions',
  deprecated: true,
  permission: 'signed-in',
  returns: page(SubscriptionEntity, {
    key: 'subscriptions',
    sort: ['created_at', 'updated_at', 'region', 'project_title', 'type', 'plan', 'status'],
    filter: { status: 'string', id: 'string', project_id: 'string', project_title: 'string', region: 'string', owner: 'string' },
    sizeDefault: 100,
  }),
  handle: async ({ caller, list }, { db, config }) => {
    const found = await contractsIn(db, await projectIdsOf(db, caller.id, projectsMax), list);
    await learnProjects(
      db,
      caller,
      found.rows.map(({ project_id }) => project_id),
    );
    return { ...found, rows: found.rows.map((contract) => subscriptionOf(contract, config)) };
  },
});

export const getSubscriptionById = operation({
  summary: 'Get a subscription by its id alone',
  endpoint: 'GET /subscriptions/{subscriptionId}',
  on: SubscriptionEntity,
  find: findSubscriptionById,
  deprecated: true,
  permission: 'contract:view',
  returns: one(SubscriptionEntity),
  handle: async ({ target }) => target,
});

/** Every organization may use all regions. */
export const listOrganizationRegions = operation({
  summary: 'List the regions in which an organization can have projects',
  endpoint: 'GET /organizations/{organization_id}/regions',
  on: OrganizationEntity,
  permission: 'organization:view',
  returns: page(RegionEntity, { sort: ['id'] }),
  handle: async (_request, { config }) => ({ rows: regionsOf(config), count: regionsOf(config).length }),
});
