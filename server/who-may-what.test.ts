/**
 * Every operation, asked for by everybody, around one organization and its project: who is let through. The table below is for people to read;
 * an operation that is not in it, or in it twice, fails. The `owner` is the person the sample belongs to, the owner of its organization too.
 */
import { beforeAll, expect, test } from 'vitest';
import type { Operation } from './kernel/operation.ts';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { enrol, openCast, organizationRoles, parts, projectRoles, teamRoles, type Cast, type Part } from './testing/cast.ts';
import { openTestPlatform, type Person, type TestPlatform } from './testing/platform.ts';
import { fill, sampleAddress, sampleBody, thereIsNone } from './testing/samples.ts';

type StagingRole = 'admin' | 'contributor' | 'viewer';

/** The parts that hold one of these roles for staging, which is the type of all sample environments. */
function onStaging(...roles: StagingRole[]): Part[] {
  return (['project', 'team'] as const).flatMap((held) => [
    `${held} admin` as const,
    ...roles.map((role) => `${held} staging:${role}` as const),
  ]);
}

/** Who is in each of the groups that the table names. Operators are in all but the first. */
const groups = {
  themselves: ['owner'],
  operators: ['operator'],
  'themselves and operators': ['operator', 'owner'],
  'the owner': ['operator', 'owner'],
  'organization admins': ['operator', 'owner', 'organization admin'],
  'billing managers': ['operator', 'owner', 'organization admin', 'organization billing'],
  'member managers': ['operator', 'owner', 'organization admin', 'organization members'],
  members: ['operator', 'owner', 'member', ...organizationRoles, ...projectRoles, ...teamRoles],
  'project users': ['operator', 'owner', ...projectRoles, ...teamRoles],
  'project users and listers': [
    'operator',
    'owner',
    'organization admin',
    'organization billing',
    'organization projects:list',
    ...projectRoles,
    ...teamRoles,
  ],
  'project listers': ['operator', 'owner', 'organization admin', 'organization billing', 'organization projects:list'],
  'project creators': ['operator', 'owner', 'organization admin', 'organization projects:create'],
  'project users, listers and planners': [
    'operator',
    'owner',
    'organization admin',
    'organization billing',
    'organization plans',
    'organization projects:list',
    ...projectRoles,
    ...teamRoles,
  ],
  'project admins and planners': ['operator', 'owner', 'organization admin', 'organization plans', 'project admin', 'team admin'],
  'project admins': ['operator', 'owner', 'project admin', 'team admin'],
  'users of environments': [
    'operator',
    'owner',
    ...[...projectRoles, ...teamRoles].filter((part) => !/^(project|team) viewer$/.test(part)),
  ],
  'contributors to staging': ['operator', 'owner', ...onStaging('admin', 'contributor')],
  'users of staging': ['operator', 'owner', ...onStaging('admin', 'contributor', 'viewer')],
  'admins of staging': ['operator', 'owner', ...onStaging('admin')],
  'everybody signed in': parts.filter((part) => part !== 'anonymous'),
  anyone: parts,
} satisfies Record<string, readonly Part[]>;

const whoMayWhat: Record<keyof typeof groups, string[]> = {
  anyone: [
    'GET /orders/download',
    'POST /payments/events',
    'GET /ssh/authority',
    'POST /projects/{projectId}/integrations/{integrationId}/hook',
  ],
  'everybody signed in': [
    'POST /ssh',
    'GET /users/me',
    'GET /events',
    'GET /me',
    'GET /subscriptions',
    'POST /ssh_keys',
    'GET /profiles',
    'POST /me/phone',
    'POST /me/verification',
    'GET /organizations',
    'POST /organizations',
    'GET /teams',
    'GET /ref/users',
    'GET /ref/teams',
    'GET /ref/organizations',
    'GET /ref/projects',
    'GET /ref/regions',
    'GET /regions',
    'GET /authority',
    'GET /regions/{region_id}',
    'GET /tickets',
    'POST /tickets',
    'GET /tickets/priority',
    'GET /tickets/category',
    'GET /discounts/types/allowance',
  ],
  themselves: [
    'POST /users/{user_id}/api-tokens',
    'DELETE /users/{user_id}/sign-ins',
    'POST /users/{user_id}/emailaddress',
    'GET /users/{user_id}/totp',
    'POST /users/{user_id}/totp',
    'DELETE /users/{user_id}/totp',
    'POST /users/{user_id}/codes',
    'DELETE /users/{user_id}/connections/{provider}',
    'POST /users/{user_id}/phonenumber',
    'POST /users/{user_id}/phonenumber/{sid}',
  ],
  operators: [
    'GET /installation',
    'GET /installation/resources',
    'GET /installation/health',
    'PATCH /installation/default-quota',
    'GET /installation/organizations',
    'GET /installation/organizations/{organization_id}',
    'PATCH /installation/organizations/{organization_id}',
    'GET /installation/users',
    'GET /installation/users/{user_id}',
    'GET /installation/images',
    'POST /installation/images/update',
    'GET /installation/sign-ins',
    'GET /installation/ssh-sessions',
    'GET /installation/ssh-sessions/{session_id}',
    'DELETE /installation/ssh-sessions/{session_id}',
    'POST /projects/{projectId}/system/restart',
    'GET /projects/{projectId}/deployments',
    'POST /projects/{projectId}/deployments',
    'GET /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
    'PATCH /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
    'DELETE /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
  ],
  'themselves and operators': [
    'GET /users/{user_id}',
    'GET /users/email={email}',
    'GET /users/username={username}',
    'PATCH /users/{user_id}',
    'GET /users/{user_id}/api-tokens',
    'GET /users/{user_id}/api-tokens/{token_id}',
    'DELETE /users/{user_id}/api-tokens/{token_id}',
    'GET /users/{user_id}/sign-ins',
    'GET /users/{user_id}/sign-ins/{sign_in_id}',
    'DELETE /users/{user_id}/sign-ins/{sign_in_id}',
    'GET /users/{user_id}/ssh-keys',
    'GET /ssh_keys/{key_id}',
    'DELETE /ssh_keys/{key_id}',
    'GET /profiles/{userId}',
    'PATCH /profiles/{userId}',
    'GET /profiles/{userId}/address',
    'PATCH /profiles/{userId}/address',
    'POST /profile/{uuid}/picture',
    'DELETE /profile/{uuid}/picture',
    'POST /users/{user_id}/resetpassword',
    'GET /users/{user_id}/connections',
    'GET /users/{user_id}/connections/{provider}',
    'GET /users/{user_id}/organizations',
    'GET /users/{user_id}/teams',
    'GET /users/{user_id}/project-access',
    'GET /users/{user_id}/extended-access',
    'GET /access/{access_id}',
    'GET /tickets/{ticket_id}',
    'PATCH /tickets/{ticket_id}',
    'GET /tickets/{ticket_id}/comments',
    'POST /tickets/{ticket_id}/comments',
    'GET /tickets/{ticket_id}/attachments',
    'GET /tickets/{ticket_id}/attachments/{attachment_id}',
  ],
  'the owner': ['DELETE /organizations/{organization_id}', 'POST /organizations/{organization_id}/owner'],
  'organization admins': [
    'PATCH /organizations/{organization_id}',
    'GET /organizations/{organization_id}/audit',
    'GET /organizations/{organization_id}/audit/{record_id}',
  ],
  'billing managers': [
    'GET /organizations/{organization_id}/address',
    'PATCH /organizations/{organization_id}/address',
    'GET /organizations/{organization_id}/profile',
    'PATCH /organizations/{organization_id}/profile',
    'GET /organizations/{organization_id}/records/plan',
    'GET /organizations/{organization_id}/records/usage',
    'GET /organizations/{organization_id}/estimate',
    'GET /organizations/{organization_id}/orders',
    'GET /organizations/{organization_id}/orders/{order_id}',
    'POST /organizations/{organization_id}/orders/{order_id}/authorize',
    'GET /organizations/{organization_id}/invoices',
    'GET /organizations/{organization_id}/invoices/{invoice_id}',
    'GET /organizations/{organization_id}/vouchers',
    'POST /organizations/{organization_id}/vouchers/apply',
    'GET /organizations/{organization_id}/discounts',
    'GET /discounts/{id}',
    'GET /organizations/{organization_id}/prepayment',
    'GET /organizations/{organization_id}/prepayment/transactions',
    'GET /organizations/{organization_id}/addons',
    'PATCH /organizations/{organization_id}/addons',
    'GET /organizations/{organization_id}/alerts/billing',
    'PATCH /organizations/{organization_id}/alerts/billing',
  ],
  'member managers': [
    'GET /organizations/{organization_id}/members',
    'POST /organizations/{organization_id}/members',
    'GET /organizations/{organization_id}/members/{user_id}',
    'PATCH /organizations/{organization_id}/members/{user_id}',
    'DELETE /organizations/{organization_id}/members/{user_id}',
    'POST /organizations/{organization_id}/mfa-enforcement/enable',
    'POST /organizations/{organization_id}/mfa-enforcement/disable',
    'POST /organizations/{organization_id}/mfa/remind',
    'POST /teams',
    'PATCH /teams/{team_id}',
    'DELETE /teams/{team_id}',
    'GET /teams/{team_id}/members',
    'POST /teams/{team_id}/members',
    'GET /teams/{team_id}/members/{user_id}',
    'DELETE /teams/{team_id}/members/{user_id}',
    'POST /organizations/{organization_id}/invitations',
    'GET /organizations/{organization_id}/invitations',
    'GET /organizations/{organization_id}/invitations/{invitation_id}',
    'DELETE /organizations/{organization_id}/invitations/{invitation_id}',
  ],
  members: [
    'GET /organizations/{organization_id}',
    'GET /organizations/{organization_id}/regions',
    'GET /organizations/{organization_id}/subscriptions/can-create',
    'GET /organizations/{organization_id}/subscriptions/estimate',
    'GET /organizations/{organization_id}/setup/options',
    'GET /organizations/{organization_id}/mfa-enforcement',
    'GET /teams/{team_id}',
    'GET /teams/{team_id}/project-access',
  ],
  'project listers': [
    'GET /organizations/{organization_id}/subscriptions',
    'GET /organizations/{organization_id}/projects',
    'GET /organizations/{organization_id}/metrics/carbon',
    'GET /organizations/{organization_id}/projects/provisioning',
  ],
  'project creators': ['POST /organizations/{organization_id}/subscriptions', 'POST /organizations/{organization_id}/projects'],
  'project users, listers and planners': [
    'GET /organizations/{organization_id}/subscriptions/{subscription_id}',
    'GET /organizations/{organization_id}/alerts/subscriptions/{subscription_id}/usage',
    'GET /alerts/subscriptions/{subscriptionId}/usage',
    'GET /organizations/{organization_id}/subscriptions/{subscription_id}/estimate',
    'GET /organizations/{organization_id}/subscriptions/{subscription_id}/current_usage',
    'GET /organizations/{organization_id}/subscriptions/{subscription_id}/addons',
    'GET /subscriptions/{subscriptionId}/can-update',
    'GET /subscriptions/{subscriptionId}',
    'POST /subscriptions/{subscriptionId}/can-afford',
    'GET /organizations/{organization_id}/projects/{project_id}',
    'GET /organizations/{organization_id}/projects/{project_id}/history',
    'GET /organizations/{organization_id}/projects/{project_id}/metrics/carbon',
  ],
  'project admins and planners': [
    'PATCH /organizations/{organization_id}/subscriptions/{subscription_id}',
    'PATCH /organizations/{organization_id}/alerts/subscriptions/{subscription_id}/usage',
    'PATCH /alerts/subscriptions/{subscriptionId}/usage',
    'PATCH /organizations/{organization_id}/projects/{project_id}',
  ],
  'project users': [
    'GET /projects/{projectId}/git/refs',
    'GET /projects/{projectId}/environments',
    'GET /projects/{projectId}',
    'GET /projects/{projectId}/activities',
    'GET /projects/{projectId}/capabilities',
    'GET /projects/{projectId}/tree',
    'GET /projects/{projectId}/settings',
    'GET /projects/{projectId}/system',
    'GET /projects/{project_id}/user-access',
    'GET /projects/{project_id}/user-access/{user_id}',
    'GET /users/{user_id}/project-access/{project_id}',
    'GET /projects/{project_id}/team-access',
    'GET /projects/{projectId}/environment-types',
    'GET /projects/{projectId}/access',
    'GET /projects/{projectId}/environment-types/{environmentTypeId}/access',
    'GET /projects/{projectId}/environment-types/{environmentTypeId}',
    'GET /projects/{projectId}/domains',
    'GET /projects/{projectId}/domains/{domainId}',
    'GET /projects/{projectId}/domains/{domainId}/dns',
    'GET /projects/{projectId}/domain-claims',
    'GET /projects/{projectId}/domain-claims/{domainClaimId}',
    'GET /projects/{projectId}/certificates',
    'GET /projects/{projectId}/certificates/{certificateId}',
    'GET /projects/{projectId}/provisioners',
    'GET /projects/{projectId}/provisioners/{certificateProvisionerDocumentId}',
    'GET /projects/{projectId}/variables',
    'GET /projects/{projectId}/variables/{projectVariableId}',
    'GET /projects/{projectId}/integrations',
    'GET /projects/{projectId}/integrations/{integrationId}',
    'GET /projects/{projectId}/integrations/{integrationId}/activities',
    'GET /projects/{projectId}/integrations/{integrationId}/pull-requests',
    'GET /projects/{projectId}/integrations/{integrationId}/pull-requests/{pullRequestNumber}',
  ],
  'project users and listers': ['GET /projects/{project_id}/team-access/{team_id}', 'GET /teams/{team_id}/project-access/{project_id}'],
  'project admins': [
    'PATCH /projects/{projectId}',
    'DELETE /projects/{projectId}',
    'PATCH /projects/{projectId}/settings',
    'POST /projects/{projectId}/clear_build_cache',
    'POST /projects/{projectId}/maintenance-redeploy',
    'DELETE /organizations/{organization_id}/subscriptions/{subscription_id}',
    'DELETE /organizations/{organization_id}/projects/{project_id}',
    'POST /projects/{project_id}/user-access',
    'PATCH /projects/{project_id}/user-access/{user_id}',
    'DELETE /projects/{project_id}/user-access/{user_id}',
    'POST /users/{user_id}/project-access',
    'PATCH /users/{user_id}/project-access/{project_id}',
    'DELETE /users/{user_id}/project-access/{project_id}',
    'POST /projects/{project_id}/team-access',
    'DELETE /projects/{project_id}/team-access/{team_id}',
    'POST /teams/{team_id}/project-access',
    'DELETE /teams/{team_id}/project-access/{project_id}',
    'POST /projects/{project_id}/invitations',
    'GET /projects/{project_id}/invitations',
    'GET /projects/{project_id}/invitations/{invitation_id}',
    'DELETE /projects/{project_id}/invitations/{invitation_id}',
    'POST /projects/{projectId}/domains',
    'PATCH /projects/{projectId}/domains/{domainId}',
    'DELETE /projects/{projectId}/domains/{domainId}',
    'POST /projects/{projectId}/domain-claims',
    'PATCH /projects/{projectId}/domain-claims/{domainClaimId}',
    'DELETE /projects/{projectId}/domain-claims/{domainClaimId}',
    'POST /projects/{projectId}/certificates',
    'PATCH /projects/{projectId}/certificates/{certificateId}',
    'DELETE /projects/{projectId}/certificates/{certificateId}',
    'PATCH /projects/{projectId}/provisioners/{certificateProvisionerDocumentId}',
    'POST /projects/{projectId}/variables',
    'PATCH /projects/{projectId}/variables/{projectVariableId}',
    'DELETE /projects/{projectId}/variables/{projectVariableId}',
    'POST /projects/{projectId}/integrations',
    'PATCH /projects/{projectId}/integrations/{integrationId}',
    'PATCH /projects/{projectId}/integrations/{integrationId}/fields',
    'DELETE /projects/{projectId}/integrations/{integrationId}',
    'POST /projects/{projectId}/integrations/{integrationId}/validate',
    'POST /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/redeliver',
    'POST /projects/{projectId}/integrations/{integrationId}/pull-requests/{pullRequestNumber}/approve',
    'GET /projects/{projectId}/integrations/{integrationId}/variables',
    'POST /projects/{projectId}/integrations/{integrationId}/variables',
    'GET /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
    'PATCH /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
    'DELETE /projects/{projectId}/integrations/{integrationId}/variables/{variableId}',
  ],
  'users of environments': [
    'GET /projects/{projectId}/git/trees/{repositoryTreeId}',
    'GET /projects/{projectId}/git/blobs/{repositoryBlobId}',
  ],
  'contributors to staging': [
    'GET /projects/{projectId}/environments/{environmentId}/logs',
    'GET /projects/{projectId}/environments/{environmentId}/logs/{app}/{name}',
    'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/ips',
    'GET /projects/{projectId}/environments/{environmentId}/observability/logs/query',
    'GET /projects/{projectId}/environments/{environmentId}/observability/logs/overview',
    'POST /projects/{projectId}/activities/{activityId}/cancel',
    'POST /projects/{projectId}/environments/{environmentId}/activities/{activityId}/cancel',
    // The environment of the sample decides.
    'POST /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/cancel',
    'POST /projects/{projectId}/environments/{environmentId}/redeploy',
    'POST /projects/{projectId}/environments/{environmentId}/maintenance-redeploy',
    'POST /projects/{projectId}/environments/{environmentId}/deploy',
    'POST /projects/{projectId}/environments/{environmentId}/rollback',
    'POST /projects/{projectId}/environments/{environmentId}/tasks/{taskId}/run',
    'POST /projects/{projectId}/environments/{environmentId}/crons/{app}/{name}/run',
    'POST /projects/{projectId}/environments/{environmentId}/source-operation',
    // The role that the app in the sample lets in decides.
    'POST /projects/{projectId}/environments/{environmentId}/terminals',
    // The role that the operation in the sample asks for decides.
    'POST /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}/operations',
  ],
  'users of staging': [
    'GET /projects/{projectId}/git/refs/{repositoryRefId}',
    'GET /projects/{projectId}/git/commits/{repositoryCommitId}',
    'GET /projects/{projectId}/git/diffs/{diffBaseId}/{diffTargetId}',
    'GET /projects/{projectId}/environments/{environmentId}',
    'POST /projects/{projectId}/environments/{environmentId}/branch',
    'GET /projects/{projectId}/environments/{environmentId}/settings',
    'GET /projects/{projectId}/environments/{environmentId}/metrics/carbon',
    'GET /projects/{projectId}/environments/{environmentId}/autoscaling/settings',
    'GET /projects/{projectId}/environments/{environmentId}/observability',
    'GET /projects/{projectId}/environments/{environmentId}/observability/server',
    'GET /projects/{projectId}/environments/{environmentId}/observability/server/caches',
    'GET /projects/{projectId}/environments/{environmentId}/observability/server/transactions-break-down',
    'GET /projects/{projectId}/environments/{environmentId}/observability/server/top-spans',
    'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/urls',
    'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/user-agents',
    'GET /projects/{projectId}/environments/{environmentId}/observability/resources/overview',
    'GET /projects/{projectId}/environments/{environmentId}/observability/resources/summary',
    'GET /projects/{projectId}/environments/{environmentId}/observability/resources/service/{service}',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/recommendations',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/{uuid}/profile',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/{uuid}/subprofiles',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/{uuid}/graph',
    'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/{uuid}/timeline',
    'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling',
    'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}',
    'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}/merge',
    'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}/filter',
    'GET /projects/{projectId}/environments/{environmentId}/deployments',
    'GET /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}',
    'GET /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}/topology',
    'GET /projects/{projectId}/environments/{environmentId}/deployments/next',
    'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments',
    'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments/{deploymentId}',
    'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments/{deploymentId}/differences',
    'GET /projects/{projectId}/environments/{environmentId}/source-operations',
    'GET /projects/{projectId}/environments/{environmentId}/backups',
    'GET /projects/{projectId}/environments/{environmentId}/backups/{backupId}',
    'GET /projects/{projectId}/environments/{environmentId}/tasks',
    'GET /projects/{projectId}/environments/{environmentId}/tasks/{taskId}',
    'GET /projects/{projectId}/environments/{environmentId}/crons',
    'GET /projects/{projectId}/environments/{environmentId}/crons/{app}/{name}',
    'GET /projects/{projectId}/environments/{environmentId}/routes',
    'GET /projects/{projectId}/environments/{environmentId}/routes/{routeId}',
    'GET /projects/{projectId}/environments/{environmentId}/activities',
    'GET /projects/{projectId}/environments/{environmentId}/activities/{activityId}',
    'GET /projects/{projectId}/integrations/{integrationId}/activities/{activityId}',
    'GET /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/log',
    'GET /projects/{projectId}/environments/{environmentId}/activities/{activityId}/log',
    'GET /projects/{projectId}/activities/{activityId}',
    'GET /projects/{projectId}/activities/{activityId}/log',
    'GET /projects/{projectId}/environments/{environmentId}/domains',
    'GET /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
    'GET /projects/{projectId}/environments/{environmentId}/variables',
    'GET /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  ],
  'admins of staging': [
    'PATCH /projects/{projectId}/environments/{environmentId}',
    'DELETE /projects/{projectId}/environments/{environmentId}',
    'PATCH /projects/{projectId}/environments/{environmentId}/settings',
    'PATCH /projects/{projectId}/environments/{environmentId}/autoscaling/settings',
    'POST /projects/{projectId}/environments/{environmentId}/autoscaling/settings',
    'PATCH /projects/{projectId}/environments/{environmentId}/deployments/next',
    'POST /projects/{projectId}/environments/{environmentId}/deployments/next/preview',
    'POST /projects/{projectId}/environments/{environmentId}/initialize',
    'POST /projects/{projectId}/environments/{environmentId}/merge',
    'POST /projects/{projectId}/environments/{environmentId}/activate',
    'POST /projects/{projectId}/environments/{environmentId}/deactivate',
    'POST /projects/{projectId}/environments/{environmentId}/pause',
    'POST /projects/{projectId}/environments/{environmentId}/resume',
    'POST /projects/{projectId}/environments/{environmentId}/synchronize',
    'POST /projects/{projectId}/environments/{environmentId}/backup',
    'DELETE /projects/{projectId}/environments/{environmentId}/backups/{backupId}',
    'POST /projects/{projectId}/environments/{environmentId}/backups/{backupId}/restore',
    'POST /projects/{projectId}/environments/{environmentId}/domains',
    'PATCH /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
    'DELETE /projects/{projectId}/environments/{environmentId}/domains/{domainId}',
    'POST /projects/{projectId}/environments/{environmentId}/variables',
    'PATCH /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
    'DELETE /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  ],
};

const groupsOf = (endpoint: string) =>
  Object.entries(whoMayWhat).flatMap(([group, endpoints]) => (endpoints.includes(endpoint) ? [group as keyof typeof groups] : []));

const operations = operationsOf(rooms);

let platform: TestPlatform;
let cast: Cast;

beforeAll(async () => {
  platform = await openTestPlatform();
  cast = await openCast(platform);
});

type Named = Record<string, string | undefined>;

/** A target with a body that works on it, in an organization of the owner's in which every part is played by somebody. */
async function stage(operation: Operation, owner: Person) {
  const address = await sampleAddress(operation, owner);
  const body = await sampleBody(operation, owner, address);
  const [named = {}] = [body].flat() as Named[];
  const { organization_id, team_id, project_id = named['project_id'], projectId = project_id }: Named = { ...named, ...address };
  const home = organization_id ?? (await homeOf('projects', projectId)) ?? (await homeOf('teams', team_id));
  if (home) await enrol(cast, platform, { organization_id: home, ...(projectId && { project_id: projectId }) });
  return { address, body };
}

async function homeOf(table: 'projects' | 'teams', id: string | undefined) {
  if (id === undefined) return undefined;
  const row = await platform.platform.db.selectFrom(table).select('organization_id').where('id', '=', id).executeTakeFirst();
  return row?.organization_id;
}

const refusals = [401, 403, 404];
/** Those who may not ask for what does not exist are answered as if the environment were not there, which is 403. */
const refusalsOfNone = [401, 403];

/** Those who are to be refused try first, all at once: they change nothing, nor does anybody who only reads. Everybody else gets a target of their own. */
test.for(operations)('$endpoint lets through whom the table names', async (operation) => {
  const owner = await platform.person({ strong: true });
  cast.set('owner', owner);
  const [group, ...more] = groupsOf(operation.endpoint);
  expect(more).toEqual([]);
  const named = parts.filter((part) => group && (groups[group] as readonly Part[]).includes(part));
  let { address, body } = await stage(operation, owner);
  const refused = thereIsNone(operation) ? refusalsOfNone : refusals;
  const isLetThrough = async (part: Part) =>
    !refused.includes((await ask(operation, cast.get(part), fill(operation.path, address), body)).status);
  const letThrough = async (some: readonly Part[]) => {
    const answers = await Promise.all(some.map(isLetThrough));
    return some.filter((_, index) => answers[index]);
  };
  expect(await letThrough(parts.filter((part) => !named.includes(part)))).toEqual([]);
  const onOneStage = operation.method === 'GET' ? [named] : named.map((part) => [part]);
  for (const [index, some] of onOneStage.entries()) {
    if (index > 0) ({ address, body } = await stage(operation, owner));
    expect(await letThrough(some)).toEqual(some);
  }
});

const ask = (operation: Operation, person: Person | undefined, path: string, body: unknown) =>
  person
    ? person.send(operation.method, path, body)
    : platform.send({ method: operation.method, url: path, ...(body !== undefined && { payload: body as object }) });

test('the table names operations that exist', () => {
  expect(Object.values(whoMayWhat).flat().sort()).toEqual(operations.map(({ endpoint }) => endpoint).sort());
});
