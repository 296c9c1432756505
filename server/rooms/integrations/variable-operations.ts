import { array, created, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import {
  insertVariable,
  IntegrationVariableEntity,
  newVariable,
  shownVariable,
  updateVariable,
  variableChange,
  variableColumns,
  variablesOf,
} from './integration-variable.ts';
import { IntegrationEntity } from './integration.ts';
import { takeIntegrations } from './queries.ts';

export const listIntegrationVariables = operation({
  summary: 'List the variables of an integration',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/variables',
  on: IntegrationEntity,
  rel: '#variables',
  permission: 'integration:manage',
  returns: array(IntegrationVariableEntity),
  handle: async ({ target }, { db }) => (await variablesOf(db, target.id)).map((row) => shownVariable(target, row)),
});

export const createIntegrationVariable = operation({
  summary: 'Add a variable to an integration',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/variables',
  on: IntegrationEntity,
  rel: '#manage-variables',
  permission: 'integration:manage',
  body: closed(newVariable),
  example: { name: 'CHAT_URL', value: 'https://chat.example.org' },
  returns: created(IntegrationVariableEntity),
  handle: ({ target, body }, { db, secrets }) =>
    db.transaction().execute(async (tx) => {
      await takeIntegrations(tx, target.project_id);
      return shownVariable(target, await insertVariable(tx, variableColumns(secrets, target.id, undefined, body)));
    }),
});

export const getIntegrationVariable = operation({
  summary: 'Get a variable of an integration',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
  on: IntegrationVariableEntity,
  permission: 'integration:manage',
  returns: one(IntegrationVariableEntity),
  handle: async ({ target }) => target,
});

export const updateIntegrationVariable = operation({
  summary: 'Change a variable of an integration',
  endpoint: 'PATCH /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
  on: IntegrationVariableEntity,
  rel: '#edit',
  permission: 'integration:manage',
  body: closed(variableChange),
  example: { value: 'https://chat.example.net' },
  returns: updated(IntegrationVariableEntity),
  handle: ({ target, body }, { db, secrets }) =>
    db.transaction().execute(async (tx) => {
      const { project_id, organization_id, integration_id, name } = target;
      await takeIntegrations(tx, project_id);
      const [stored] = await variablesOf(tx, integration_id, name);
      if (!stored) throw gone();
      const row = await updateVariable(tx, name, variableColumns(secrets, integration_id, stored, body));
      return shownVariable({ id: integration_id, project_id, organization_id }, row);
    }),
});

export const deleteIntegrationVariable = operation({
  summary: 'Delete a variable of an integration',
  endpoint: 'DELETE /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
  on: IntegrationVariableEntity,
  rel: '#delete',
  permission: 'integration:manage',
  returns: deleted,
  handle: async ({ target: { integration_id, name } }, { db }) => {
    const removal = db.deleteFrom('integration_variables').where('integration_id', '=', integration_id).where('name', '=', name);
    if (!(await removal.returning('name').executeTakeFirst())) throw gone();
  },
});

const gone = () => new Problem('not-found', 'No such integration variable.');
