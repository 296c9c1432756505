import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { compileHref } from '../../kernel/hal.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Caller, Platform } from '../../platform.ts';
import { integrationsOf } from './queries.ts';
import { openedValues, type StoredIntegration } from './stored-integration.ts';
import type { Field, Values } from './types/field.ts';
import { fieldsOf, typeOf } from './types/types.ts';

const idPattern = '^[a-z0-9]{1,64}$';
export const IntegrationId = Type.String({ pattern: idPattern });
export const isShortId = (text: string) => new RegExp(idPattern).test(text);

/** An integration with all its fields, secrets among them. What is sent of it is what `toJSON` tells, and by itself that is what everybody may see. */
export interface Integration extends Pick<
  StoredIntegration,
  'id' | 'project_id' | 'organization_id' | 'type' | 'created_at' | 'updated_at'
> {
  role: string;
  values: Values;
  toJSON(): unknown;
}

export const opened = (secrets: Secrets, row: StoredIntegration): Integration => {
  const { id, project_id, organization_id, type, created_at, updated_at } = row;
  const integration = { id, project_id, organization_id, type, role: '', created_at, updated_at, values: openedValues(secrets, row) };
  return { ...integration, toJSON: () => shown(integration, 'shownToOthers') };
};

const scopeOf = ({ project_id, organization_id }: Integration) => ({ project: project_id, organization: organization_id });

/** The integration as this caller may see it: those who manage integrations are shown secrets again that are not write-only. */
export const shownTo = (caller: Caller, integration: Integration): Integration =>
  caller.can('integration:manage', scopeOf(integration))
    ? { ...integration, toJSON: () => shown(integration, 'shownToManagers') }
    : integration;

function shown(
  { id, type, role, created_at, updated_at, values }: Omit<Integration, 'toJSON'>,
  audience: keyof NonNullable<Field['secret']>,
) {
  const fields = fieldsOf(type).map(([name, { secret }]) => {
    const value = values[name];
    return [name, secret && value !== undefined ? secret[audience](value) : value] as const;
  });
  return { id, type, role, created_at, updated_at, ...Object.fromEntries(fields), ...typeOf(type).derived?.(values) };
}

const hookHref = compileHref('/projects/{projectId}/integrations/{integrationId}/hook');

/** Where whoever is outside and has news finds us. */
export const hookAddress = ({ config }: Pick<Platform, 'config'>, { project_id, id }: Pick<Integration, 'project_id' | 'id'>): string =>
  config.url + hookHref({ projectId: project_id, integrationId: id });

/** A connection of a project with a service outside. */
export const IntegrationEntity = entity({
  name: 'integration',
  path: '/projects/{projectId}/integrations/{integrationId}',
  params: { projectId: ProjectId, integrationId: IntegrationId },
  schema: Type.Object(
    {
      id: Type.String(),
      created_at: Time,
      updated_at: Time,
      type: Type.String({ description: 'Decides which other fields there are: those that are sent for it, without what is secret.' }),
      role: Type.String(),
    },
    { additionalProperties: true },
  ),
  address: ({ project_id, id }: Integration) => ({ projectId: project_id, integrationId: id }),
  scope: scopeOf,
  view: 'integration:view',
  /** Whoever is outside and has news calls without a token, so this is an address like any other. */
  links: ({ project_id, id, type }) =>
    typeOf(type).isHooked ? { '#hook': { href: hookHref({ projectId: project_id, integrationId: id }) } } : {},
  load: async ({ projectId, integrationId }, { db, secrets }) => {
    const [found] = await integrationsOf(db, projectId, integrationId);
    return found && opened(secrets, found);
  },
});
