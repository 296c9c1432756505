import { Type } from 'typebox';
import { array, created, deleted, one, operation, plain, updated } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { ProjectEntity } from '../projects/public.ts';
import { addIntegration, changeIntegration, removeIntegration } from './change-integration.ts';
import { receiveDelivery } from './code-hosts/receive-delivery.ts';
import { refuseUnfitAtHost } from './code-hosts/validate.ts';
import { completed, refuseUnfit } from './given-values.ts';
import { IntegrationEntity, isShortId, opened, shownTo } from './integration.ts';
import { refuseUnfitSink } from './log-forwarding/check-sink.ts';
import { integrationsOf } from './queries.ts';
import { GivenIntegration } from './types/types.ts';

const example = { type: 'github', token: 'a-token', repository: 'acme/shop', build_draft_pull_requests: false };

export const listProjectsIntegrations = operation({
  summary: 'List the integrations of a project',
  endpoint: 'GET /projects/{projectId}/integrations',
  on: ProjectEntity,
  rel: 'integrations',
  permission: 'integration:view',
  returns: array(IntegrationEntity),
  handle: async ({ caller, target }, { db, secrets }) =>
    (await integrationsOf(db, target.id)).map((row) => shownTo(caller, opened(secrets, row))),
});

export const createProjectsIntegrations = operation({
  summary: 'Connect a project with a service outside',
  endpoint: 'POST /projects/{projectId}/integrations',
  on: ProjectEntity,
  rel: '#manage-integrations',
  permission: 'integration:manage',
  body: GivenIntegration,
  example,
  returns: created(IntegrationEntity),
  handle: ({ caller, target, body, outside }, platform) => addIntegration(platform, caller, target.id, body, outside),
});

export const getProjectsIntegrations = operation({
  summary: 'Get an integration',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}',
  on: IntegrationEntity,
  permission: 'integration:view',
  returns: one(IntegrationEntity),
  handle: async ({ caller, target }) => shownTo(caller, target),
});

export const updateProjectsIntegrations = operation({
  summary: 'Change an integration; its type and all that it requires are sent again',
  endpoint: 'PATCH /projects/{projectId}/integrations/{integrationId}',
  on: IntegrationEntity,
  permission: 'integration:manage',
  body: GivenIntegration,
  example,
  returns: updated(IntegrationEntity),
  handle: ({ caller, target, body, outside }, platform) => changeIntegration(platform, caller, target, () => body, outside),
});

/** Released clients follow the link, and send neither the type nor anything else that stays. The published body requires both, so this has an address of its own. */
export const editProjectsIntegrations = operation({
  summary: 'Change some fields of an integration',
  endpoint: 'PATCH /projects/{projectId}/integrations/{integrationId}/fields',
  on: IntegrationEntity,
  rel: '#edit',
  permission: 'integration:manage',
  body: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description: 'The fields that change.' }),
  example: { build_draft_pull_requests: true },
  returns: updated(IntegrationEntity),
  handle: ({ caller, target, body, outside }, platform) =>
    changeIntegration(platform, caller, target, (stored) => completed(stored, body), outside),
});

export const deleteProjectsIntegrations = operation({
  summary: 'Delete an integration',
  endpoint: 'DELETE /projects/{projectId}/integrations/{integrationId}',
  on: IntegrationEntity,
  rel: '#delete',
  permission: 'integration:manage',
  returns: deleted,
  handle: ({ target }, platform) => removeIntegration(platform, target),
});

const Accepted = Type.Object({ status: Type.String(), code: Type.Integer() });
const accepted = { status: 'OK', code: 200 };

export const validateProjectsIntegrations = operation({
  summary: 'Check whether an integration can do what it is for',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/validate',
  changesNothing: true,
  on: IntegrationEntity,
  rel: '#validate',
  permission: 'integration:manage',
  returns: plain(Accepted),
  handle: async ({ target, outside }, platform) => {
    refuseUnfit(target, platform.config);
    await outside(() => refuseUnfitAtHost(platform, target));
    await outside(() => refuseUnfitSink(platform, target));
    return accepted;
  },
});

/** Called by the code host, which has no token: it proves what it sends with the secret of the integration (code-hosts/receive-delivery.ts). */
export const hookProjectsIntegrations = operation({
  summary: 'Tell an integration that there is news outside',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/hook',
  permission: 'public',
  takesArrival: true,
  returns: plain(Accepted),
  handle: async ({ params: { projectId, integrationId }, arrival }, platform) => {
    const { db } = platform;
    const [found] = [projectId, integrationId].every(isShortId) ? await integrationsOf(db, projectId, integrationId) : [];
    if (!found || !arrival) throw new Problem('not-found', 'No such integration.');
    await receiveDelivery(platform, found, arrival);
    return accepted;
  },
});
