/** What scripts of an integration are told. The value of a sensitive variable is sealed and never shown. */
import { sql, type Insertable, type Selectable } from 'kysely';
import { Type, type Static } from 'typebox';
import type { Database } from '../../database.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import { orProblem, type Db, type Tx } from '../../kernel/sql.ts';
import { nameAndValue, nameIsTaken, variableFields, VariableId, variableInput } from '../variables/public.ts';
import { IntegrationId } from './integration.ts';
import { integrationsOf } from './queries.ts';

const { name, value, attributes, is_json, is_sensitive } = variableInput;
export const variableChange = { name, value, attributes, is_json, is_sensitive };
export const newVariable = { ...variableChange, ...nameAndValue };
const ChangeSchema = Type.Object(variableChange);
export type VariableChange = Static<typeof ChangeSchema>;

type Stored = Selectable<Database['integration_variables']>;

export interface IntegrationVariable extends Omit<Stored, 'value' | 'value_sealed'> {
  id: string;
  project_id: string;
  organization_id: string;
  value?: string;
}

interface Owner {
  id: string;
  project_id: string;
  organization_id: string;
}

const { visible_build: _build, visible_runtime: _runtime, application_scope: _scope, ...fields } = variableFields;

export const IntegrationVariableEntity = entity({
  name: 'integration variable',
  path: '/projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
  params: { projectId: ProjectId, integrationId: IntegrationId, variableId: VariableId },
  schema: Type.Object(fields),
  address: ({ project_id, integration_id, name: variableId }: IntegrationVariable) => ({
    projectId: project_id,
    integrationId: integration_id,
    variableId,
  }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'integration:manage',
  load: async ({ projectId, integrationId, variableId }, { db }) => {
    const [owner] = await integrationsOf(db, projectId, integrationId);
    const [found] = owner ? await variablesOf(db, owner.id, variableId) : [];
    return owner && found && shownVariable(owner, found);
  },
});

/** The variables of an integration, or the one of that name. */
export const variablesOf = async (db: Db | Tx, integrationId: string, named?: string): Promise<Stored[]> => {
  const { rows } = await sql<Stored>`select * from integration_variables where integration_id = ${integrationId}
    ${named === undefined ? sql`` : sql`and name = ${named}`} order by name`.execute(db);
  return rows;
};

export const shownVariable = (
  { project_id, organization_id }: Owner,
  { value: plain, value_sealed, ...row }: Stored,
): IntegrationVariable => ({
  ...row,
  id: row.name,
  project_id,
  organization_id,
  ...(value_sealed === null && plain !== null && { value: plain }),
});

const purpose = (integrationId: string, named: string) => `integration variable ${integrationId} ${named}`;

export const openedVariable = (secrets: Secrets, { integration_id, name: named, value: plain, value_sealed }: Stored): string =>
  value_sealed === null ? (plain ?? '') : secrets.open(purpose(integration_id, named), value_sealed);

/** The columns after a change; of a new variable, nothing is stored yet. */
export function variableColumns(
  secrets: Secrets,
  integrationId: string,
  stored: Stored | undefined,
  change: VariableChange,
): Insertable<Database['integration_variables']> {
  if (stored?.is_sensitive && change.is_sensitive === false)
    throw invalidField('is_sensitive', 'cannot be unset; delete the variable and create it anew with a value that may be seen');
  const named = change.name ?? stored?.name ?? '';
  const text = change.value ?? (stored ? openedVariable(secrets, stored) : '');
  const sensitive = change.is_sensitive ?? stored?.is_sensitive ?? false;
  const isJson = change.is_json ?? stored?.is_json ?? false;
  if (isJson) refuseOtherThanJson(text);
  return {
    integration_id: integrationId,
    name: named,
    attributes: JSON.stringify(change.attributes ?? stored?.attributes ?? {}),
    is_json: isJson,
    is_sensitive: sensitive,
    ...(sensitive ? { value: null, value_sealed: secrets.seal(purpose(integrationId, named), text) } : { value: text, value_sealed: null }),
  };
}

function refuseOtherThanJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw invalidField('value', 'is not valid JSON; send JSON, or is_json: false');
  }
}

const variablesMax = 100;

/** Throws a Problem where the name is taken, or there are too many. */
export async function insertVariable(tx: Tx, row: Insertable<Database['integration_variables']>): Promise<Stored> {
  if ((await variablesOf(tx, row.integration_id)).length >= variablesMax)
    throw new Problem('conflict', `An integration has at most ${variablesMax} variables; delete one that is not needed any more.`);
  return orProblem(tx.insertInto('integration_variables').values(row).returningAll().executeTakeFirstOrThrow(), refusals);
}

const refusals = { integration_variables_pkey: nameIsTaken };

export const updateVariable = (tx: Tx, named: string, row: Insertable<Database['integration_variables']>): Promise<Stored> =>
  orProblem(
    tx
      .updateTable('integration_variables')
      .set({ ...row, updated_at: sql<string>`clock_timestamp()` })
      .where('integration_id', '=', row.integration_id)
      .where('name', '=', named)
      .returningAll()
      .executeTakeFirstOrThrow(),
    refusals,
  );
