import { Type, type TObject } from 'typebox';
import type { Config } from '../../config.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Line, nullable, Time, Ulid } from '../../kernel/schema.ts';
import { projectById, type Project } from './queries.ts';

export { ProjectId };

const titleCharactersMax = 250;
const descriptionCharactersMax = 2000;

/** The fields of a project that its administrators can set. */
export const projectFields = {
  title: Line(titleCharactersMax, { charactersMin: 1 }),
  description: Type.String({ maxLength: descriptionCharactersMax }),
  attributes: Type.Unsafe<Record<string, string>>({
    type: 'object',
    propertyNames: { minLength: 1, maxLength: 64 },
    additionalProperties: { type: 'string', maxLength: 1000 },
    maxProperties: 50,
  }),
};

const nullableNumber = nullable(Type.Number());
const Limits = Type.Object({
  legacy_development: Type.Boolean(),
  max_cpu: nullableNumber,
  max_memory: nullable(Type.Integer()),
  max_environments: nullable(Type.Integer()),
});

/** The contract as it appears in a project. */
export const Subscription = Type.Object({
  license_uri: Type.String(),
  plan: Type.Optional(Type.String({ description: 'Left out when it is `flexible`, which the published list of plans does not have.' })),
  environments: Type.Integer(),
  storage: Type.Integer({ description: 'MiB' }),
  included_users: Type.Integer(),
  subscription_management_uri: Type.String(),
  restricted: Type.Boolean(),
  suspended: Type.Boolean(),
  user_licenses: Type.Integer(),
  resources: Type.Object({ container_profiles: Type.Boolean(), production: Limits, development: Limits }),
  image_types: Type.Object({ exclude: Type.Array(Type.String()) }),
});

/** A project as clients read it. Rooms pass rows around; `shown` turns a row into this form when it is sent. */
const schema: TObject = Type.Object({
  id: ProjectId,
  created_at: Time,
  updated_at: Time,
  attributes: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
  title: Type.String(),
  description: Type.String(),
  owner: Type.String({ description: 'The user who made it.' }),
  namespace: nullable(Type.String()),
  organization: Ulid,
  default_branch: Type.String({ description: 'Its environment is production.' }),
  status: Type.Object({ code: Type.String(), message: Type.String() }),
  timezone: Type.String(),
  region: Type.String(),
  repository: Type.Object({
    url: Type.String(),
    client_ssh_key: nullable(Type.String({ description: 'The public key with which private repositories are fetched.' })),
  }),
  default_domain: nullable(Type.String()),
  subscription: Subscription,
  maintenance: nullable(Type.Object({ next_maintenance: Time })),
});

/** Operations that belong to accounts spell the parameter in their own way; a project links to them, too. */
const addressOf = (id: string) => ({ projectId: id, project_id: id });

/** One Git repository with all its environments. */
export const ProjectEntity = entity({
  name: 'project',
  path: '/projects/{projectId}',
  params: { projectId: ProjectId },
  schema,
  address: ({ id }: Project) => addressOf(id),
  scope: ({ id, organization_id }) => ({ project: id, organization: organization_id }),
  view: 'project:view',
  load: async ({ projectId }, { db, config }) => {
    const project = await projectById(db, projectId);
    return project && shown(project, config);
  },
});

/** Returns the row with a `toJSON` that writes it in the form that clients read. */
export function shown(project: Project, config: Pick<Config, 'domain' | 'url'>): Project & { toJSON(): unknown } {
  const { id, organization_id, client_public_key } = project;
  const told = () => ({
    ...project,
    organization: organization_id,
    owner: project.owner_id ?? '',
    status: statusOf(project),
    /** Clients recognise a clone by this form of its remote, and read the project's id from it. */
    repository: { url: `${id}@git.${config.domain}:${id}.git`, client_ssh_key: client_public_key },
    subscription: subscriptionOf(project, config),
    /** Offshoot does not schedule maintenance yet. */
    maintenance: null,
  });
  return { ...project, toJSON: told };
}

const unlimited = { legacy_development: false, max_cpu: null, max_memory: null, max_environments: null };

/** A contract neither charges nor limits anything. Clients read its id from the end of `license_uri`. */
export function subscriptionOf(
  { organization_id, subscription_id, plan, environments_max, storage_mib, user_licenses, status }: Project,
  { url }: Pick<Config, 'url'>,
) {
  const uri = `${url}/organizations/${organization_id}/subscriptions/${subscription_id}`;
  return {
    license_uri: uri,
    ...(plan !== 'flexible' && { plan }),
    environments: environments_max,
    storage: storage_mib,
    included_users: user_licenses,
    subscription_management_uri: uri,
    restricted: false,
    suspended: status === 'suspended',
    user_licenses,
    resources: { container_profiles: false, production: unlimited, development: unlimited },
    image_types: { exclude: [] },
  };
}

const statuses: Record<string, { code: string; message: string }> = {
  requested: { code: 'requested', message: 'The project is being created.' },
  active: { code: 'provisioned', message: 'ok' },
  failed: { code: 'failed', message: 'The project could not be created; delete it and create another.' },
  suspended: { code: 'suspended', message: 'The project is suspended; ask the operator of this installation.' },
  deleting: { code: 'deleting', message: 'The project is being deleted.' },
};

const statusOf = ({ status }: Project) => statuses[status] ?? { code: status, message: '' };
