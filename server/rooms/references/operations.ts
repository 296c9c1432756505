/**
 * A list that mentions other things carries signed links to their short forms. A link is for whoever was shown the list: nobody else can
 * follow it, and nobody can make one for ids of their own choosing.
 */
import { Type, type TProperties } from 'typebox';
import { isSignedReference } from '../../kernel/hal.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { inMilliseconds, nullable, Time, Ulid, Uuid } from '../../kernel/schema.ts';
import type { Caller, Platform } from '../../platform.ts';
import { ProjectId } from '../projects/public.ts';
import { regionFields, regionsOf } from '../regions/public.ts';
import { teamFields, teamsById } from '../teams/public.ts';
import { installedAt, organizationReferences, projectReferences, userReferences } from './queries.ts';

const inCharactersMax = 10_000;

const query = Type.Object({
  in: Type.String({ minLength: 1, maxLength: inCharactersMax, description: 'Ids, separated by commas.' }),
  sig: Type.String({ minLength: 1, maxLength: 100, description: 'The signature, from the link.' }),
});

/** Short forms by id; null for a thing that is gone. */
const references = <T extends TProperties>(properties: T) => plain(Type.Record(Type.String(), nullable(Type.Object(properties))));

function signedIds(set: string, { in: listed, sig }: { in: string; sig: string }, caller: Caller, { secrets }: Platform): string[] {
  const ids = listed.split(',');
  if (isSignedReference(set, ids, sig, caller, secrets)) return ids;
  const sentence = 'does not belong to these ids and to you: follow a ref link of a list exactly as it is given';
  throw new Problem('invalid-request', `sig ${sentence}.`, { fields: { sig: sentence } });
}

const byId = <Row extends { id: string }>(ids: readonly string[], rows: readonly Row[]): Record<string, Row | null> => {
  const found = new Map(rows.map((row) => [row.id, row]));
  return Object.fromEntries(ids.map((id) => [id, found.get(id) ?? null]));
};

const withShortTimes = <Row extends { created_at: string; updated_at: string }>(row: Row): Row => ({
  ...row,
  created_at: inMilliseconds(row.created_at),
  updated_at: inMilliseconds(row.updated_at),
});

export const getReferencedUsers = operation({
  summary: 'Get the users that a list mentions',
  endpoint: 'GET /ref/users',
  permission: 'signed-in',
  query,
  returns: references({
    id: Uuid,
    username: Type.String(),
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    picture: Type.Optional(Type.String()),
    mfa_enabled: Type.Boolean(),
    sso_enabled: Type.Boolean(),
  }),
  handle: async ({ caller, query }, platform) => {
    const ids = signedIds('users', query, caller, platform);
    const users = await userReferences(platform.db, ids);
    return byId(
      ids,
      users.map(({ picture, ...user }) => ({ ...user, ...(picture && { picture }) })),
    );
  },
});

export const getReferencedTeams = operation({
  summary: 'Get the teams that a list mentions',
  endpoint: 'GET /ref/teams',
  permission: 'signed-in',
  query,
  returns: references(teamFields),
  handle: async ({ caller, query }, platform) => {
    const ids = signedIds('teams', query, caller, platform);
    return byId(ids, (await teamsById(platform.db, ids)).map(withShortTimes));
  },
});

export const getReferencedOrganizations = operation({
  summary: 'Get the organizations that a list mentions',
  endpoint: 'GET /ref/organizations',
  permission: 'signed-in',
  query,
  returns: references({
    id: Ulid,
    type: Type.String(),
    owner_id: Uuid,
    name: Type.String(),
    label: Type.String(),
    vendor: Type.String(),
    created_at: Time,
    updated_at: Time,
  }),
  handle: async ({ caller, query }, platform) => {
    const ids = signedIds('organizations', query, caller, platform);
    return byId(ids, (await organizationReferences(platform.db, ids)).map(withShortTimes));
  },
});

export const getReferencedProjects = operation({
  summary: 'Get the projects that a list mentions',
  endpoint: 'GET /ref/projects',
  permission: 'signed-in',
  query,
  returns: references({
    id: ProjectId,
    organization_id: Ulid,
    subscription_id: Type.String(),
    region: Type.String(),
    title: Type.String(),
    type: Type.String(),
    plan: Type.String(),
    status: Type.String(),
    vendor: Type.String(),
    invoiced: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
  }),
  handle: async ({ caller, query }, platform) => {
    const ids = signedIds('projects', query, caller, platform);
    const rows = await projectReferences(platform.db, ids);
    return byId(
      ids,
      rows.map((row) => withShortTimes({ ...row, invoiced: false })),
    );
  },
});

export const getReferencedRegions = operation({
  summary: 'Get the regions that a list mentions',
  endpoint: 'GET /ref/regions',
  permission: 'signed-in',
  query,
  returns: references({
    ...regionFields,
    envimpact: Type.Object({
      zone: Type.String(),
      carbon_intensity: Type.Number({ description: 'Grams of CO2 equivalent for a kWh.' }),
      carbon_intensity_source: Type.String(),
      green: Type.Boolean(),
    }),
    compliance: Type.Object({ hipaa: Type.Boolean() }),
    created_at: Time,
    updated_at: Time,
  }),
  handle: async ({ caller, query }, platform) => {
    const ids = signedIds('regions', query, caller, platform);
    const at = await installedAt(platform.db);
    const rows = regionsOf(platform.config).map((region) => ({ ...region, compliance: { hipaa: false }, created_at: at, updated_at: at }));
    return byId(ids, rows.map(withShortTimes));
  },
});
