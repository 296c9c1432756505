/** One of everything, for the tests that try every operation. A new entity has its line here, or those tests say so. */
import { randomBytes } from 'node:crypto';
import { signedReference } from '../kernel/hal.ts';
import { shortId } from '../kernel/id.ts';
import { documentedQuery } from '../kernel/openapi.ts';
import type { Entity, Operation } from '../kernel/operation.ts';
import { downloadQuery, freshVoucher, sampleBilled, withAuthorization } from './billing.ts';
import { identityBodies, identitySamples } from './identity.ts';
import type { Person } from './platform.ts';
import { organizationOfTeam, sampleTeamAccess, sampleUserAccess } from './samples/access.ts';
import { absentUuid, fill, type Address } from './samples/addresses.ts';
import { sampleBackup, sampleCron, sampleDeployment, sampleLog, sampleTask } from './samples/deployments.ts';
import { sampleCertificate, sampleDomain, sampleEnvironmentDomain, sampleNames, withProductionDomain } from './samples/domains.ts';
import { sampleActivity, sampleIntegration, samplePullRequest } from './samples/integrations.ts';
import { freshEmail, sampleInvitation, sampleMember, sampleOrganization, sampleTeam } from './samples/organizations.ts';
import {
  asOneThatAsksNobody,
  asScript,
  atItsEnd,
  deployed,
  deployedByHand,
  deployedTwice,
  inStatus,
  withCode,
  withRunningApp,
  withRuntimeOperation,
  withSourceOperation,
} from './samples/prepared.ts';
import { sampleCode, sampleEnvironment, sampleProject, sampleSubscription } from './samples/projects.ts';
import { sampleTicket } from './samples/tickets.ts';

export { sampleMember, sampleOrganization, sampleTeam } from './samples/organizations.ts';
export { sampleEnvironment, sampleProject } from './samples/projects.ts';
export { sampleBackup, sampleLog } from './samples/deployments.ts';
export { absentAddress, fill } from './samples/addresses.ts';

const sampleOf: Record<string, (owner: Person) => Promise<Address>> = {
  user: async ({ user }) => ({ user_id: user.id, email: user.email, username: user.username }),
  'API token': async (owner) => {
    const { json } = await owner.send('POST', `/users/${owner.user.id}/api-tokens`, { name: crypto.randomUUID() });
    return { user_id: owner.user.id, token_id: json.id };
  },
  'SSH key': async (owner) => {
    const { json } = await owner.send('POST', '/ssh_keys', { value: freshPublicKey() });
    return { key_id: String(json.key_id) };
  },
  ...identitySamples,
  organization: sampleOrganization,
  'organization address': sampleOrganization,
  'organization profile': sampleOrganization,
  'organization member': async (owner) => {
    const { organization_id } = await sampleOrganization(owner);
    return { organization_id, user_id: await sampleMember(owner, organization_id) };
  },
  'audit record': async (owner) => {
    const { organization_id } = await sampleOrganization(owner);
    const { json } = await owner.send('GET', `/organizations/${organization_id}/audit`);
    return { organization_id, record_id: String(json.items[0].id) };
  },
  'organization invitation': async (owner) => {
    const { organization_id } = await sampleOrganization(owner);
    return sampleInvitation(owner, `/organizations/${organization_id}/invitations`, { organization_id });
  },
  'project invitation': async (owner) => {
    const { project_id } = await sampleProject(owner);
    return sampleInvitation(owner, `/projects/${project_id}/invitations`, { project_id });
  },
  team: sampleTeam,
  'team member': sampleTeam,
  project: sampleProject,
  'project settings': sampleProject,
  'system information': sampleProject,
  'deployment target': async (owner) => ({ ...(await sampleProject(owner)), deploymentTargetConfigurationId: 'local' }),
  'organization project': sampleProject,
  subscription: sampleSubscription,
  'user access': sampleUserAccess,
  'project access': sampleUserAccess,
  'team access': sampleTeamAccess,
  'team project access': sampleTeamAccess,
  'access document': async ({ user }) => ({ access_id: user.id }),
  'environment type': async (owner) => ({ ...(await sampleProject(owner)), environmentTypeId: 'staging' }),
  environment: sampleEnvironment,
  'environment settings': sampleEnvironment,
  activity: sampleActivity,
  'activity of an integration': sampleActivity,
  backup: sampleBackup,
  deployment: sampleDeployment,
  'next deployment': sampleDeployment,
  'earlier deployment': async (owner) => ({ ...(await sampleDeployment(owner)), deploymentId: '1' }),
  task: sampleTask,
  cron: sampleCron,
  route: sampleDeployment,
  'project variable': async (owner) => {
    const project = await sampleProject(owner);
    await owner.send('POST', `/projects/${project.projectId}/variables`, { name: 'env:SAMPLE', value: 'one' });
    return { ...project, projectVariableId: 'env:SAMPLE' };
  },
  integration: sampleIntegration,
  'pull request': samplePullRequest,
  'integration variable': async (owner) => {
    const integration = await sampleIntegration(owner);
    const body = { name: 'SAMPLE', value: 'one' };
    await owner.send('POST', fill('/projects/{projectId}/integrations/{integrationId}/variables', integration), body);
    return { ...integration, variableId: 'SAMPLE' };
  },
  'environment variable': async (owner) => {
    const environment = await sampleEnvironment(owner);
    await owner.send('POST', fill('/projects/{projectId}/environments/{environmentId}/variables', environment), {
      name: 'env:SAMPLE',
      value: 'one',
    });
    return { ...environment, variableId: 'env:SAMPLE' };
  },
  domain: sampleDomain,
  'environment domain': sampleEnvironmentDomain,
  'domain claim': async (owner) => {
    const project = await sampleProject(owner);
    const { json } = await owner.send('POST', `/projects/${project.projectId}/domain-claims`, { name: `${project.projectId}.example` });
    return { ...project, domainClaimId: String(json._embedded.entity.id) };
  },
  certificate: async (owner) => {
    const project = await sampleProject(owner);
    const { json } = await owner.send('POST', `/projects/${project.projectId}/certificates`, await sampleCertificate());
    return { ...project, certificateId: String(json._embedded.entity.id) };
  },
  'certificate provisioner': async (owner) => ({ ...(await sampleProject(owner)), certificateProvisionerDocumentId: 'acme' }),
  ticket: sampleTicket,
  order: sampleBilling,
  invoice: sampleBilling,
  discount: sampleBilling,
  'plan record': sampleBilling,
  'resource event': async (owner) => {
    const project = await sampleProject(owner);
    const event = {
      event_type: 'deployment',
      event_id: shortId(),
      resource: 'cpu_app',
      quantity: '0.5',
      happened_at: '2026-01-01T00:00:00Z',
    };
    await owner.home.platform.db
      .insertInto('resource_history')
      .values({ ...event, project_id: project.project_id, environment: 'main', user_id: owner.user.id })
      .execute();
    return project;
  },
  'usage record': sampleBilling,
  'prepayment transaction': sampleBilling,
  installation: sampleInstallation,
  'user account': async ({ user }) => ({ user_id: user.id }),
  'organization quota': sampleOrganization,
  'SSH session': async (owner) => {
    const { projectId, environmentId } = await sampleEnvironment(owner);
    const session_id = shortId();
    const session = { id: session_id, user_id: owner.user.id, project_id: projectId, environment_id: environmentId };
    await owner.home.platform.db
      .insertInto('ssh_sessions')
      .values({ ...session, runs: 'app', instance: 0, address: '192.0.2.1', via: 'sample' })
      .execute();
    return { session_id };
  },
  ref: sampleCode,
  commit: sampleCode,
  tree: sampleCode,
  blob: sampleCode,
  log: sampleLog,
  region: async ({ home }) => ({ region_id: home.platform.config.region.id }),
};

/** An organization with a closed month and all that belongs to it. */
export async function sampleBilling(owner: Person) {
  return sampleBilled(owner, await sampleProject(owner));
}

/** What the first start makes, with nobody waiting for newer images. */
export async function sampleInstallation({ home }: Person) {
  await home.platform.db
    .insertInto('installation')
    .defaultValues()
    .onConflict((conflict) => conflict.column('only_one').doUpdateSet({ image_update_asked_at: null }))
    .execute();
  return {};
}

/** Bodies that name something: made here, because an example cannot know what exists. */
const bodyOf: Record<string, (owner: Person, address: Address) => Promise<unknown>> = {
  ...identityBodies,
  'POST /organizations/{organization_id}/subscriptions': async ({ home }) => ({
    project_region: home.platform.config.region.id,
    project_title: 'Shop',
  }),
  'POST /organizations/{organization_id}/projects': async ({ home }) => ({ region: home.platform.config.region.id, title: 'Shop' }),
  'POST /organizations/{organization_id}/members': async (owner) => ({ user_id: (await owner.home.person()).user.id }),
  'POST /organizations/{organization_id}/owner': async (owner, { organization_id = '' }) => ({
    user_id: await sampleMember(owner, organization_id),
  }),
  'POST /organizations/{organization_id}/invitations': async () => ({ email: freshEmail(), permissions: [] }),
  'POST /projects/{project_id}/invitations': async () => ({ email: freshEmail(), permissions: [{ type: 'staging', role: 'admin' }] }),
  'POST /teams': async (owner) => ({ ...(await sampleOrganization(owner)), label: 'Designers', project_permissions: ['viewer'] }),
  'POST /teams/{team_id}/members': async (owner, address) => ({
    user_id: await sampleMember(owner, await organizationOfTeam(owner, address)),
  }),
  'POST /teams/{team_id}/project-access': async (owner, address) => {
    const { project_id } = await sampleProject(owner, await organizationOfTeam(owner, address));
    return [{ project_id }];
  },
  'POST /users/{user_id}/project-access': async (owner) => [
    { project_id: (await sampleProject(owner)).project_id, permissions: ['viewer'] },
  ],
  'POST /projects/{project_id}/user-access': async (owner) => [
    { user_id: (await owner.home.person()).user.id, permissions: ['viewer'], auto_add_member: true },
  ],
  'POST /organizations/{organization_id}/vouchers/apply': freshVoucher,
  'POST /projects/{projectId}/domains': async (_owner, address) => ({ name: sampleNames(address).production, attributes: { a: 'b' } }),
  'POST /projects/{projectId}/environments/{environmentId}/domains': async (_owner, address) => ({
    name: sampleNames(address).elsewhere,
    replacement_for: sampleNames(address).production,
  }),
  'POST /projects/{projectId}/domain-claims': async (_owner, { projectId }) => ({ name: `${projectId}.example` }),
  'POST /projects/{projectId}/certificates': sampleCertificate,
  'PATCH /projects/{projectId}/environments/{environmentId}/deployments/next': async () => ({ webapps: { api: { instance_count: 2 } } }),
  'POST /projects/{projectId}/environments/{environmentId}/deployments/next/preview': async () => ({
    webapps: { api: { instance_count: 2 } },
  }),
  'POST /projects/{project_id}/team-access': async (owner, { organization_id }) => {
    const { json } = await owner.send('POST', '/teams', { organization_id, label: 'Let in' });
    return [{ team_id: json.id }];
  },
};

/** A body that works for the operation on the sample at this address: its example, unless that would have to name something. */
export const sampleBody = async ({ endpoint, example }: Operation, owner: Person, address: Address): Promise<unknown> =>
  bodyOf[endpoint] ? bodyOf[endpoint](owner, address) : example;

/** A key nobody has yet, as `ssh-keygen -t ed25519` would write it. */
export function freshPublicKey(comment = 'sample') {
  const field = (bytes: Uint8Array) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(randomBytes(32))]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`;
}

/** Where an operation without a target has something in its path or, under `?`, in its query string. */
const addressOf: Record<string, (owner: Person) => Promise<Address>> = {
  'POST /users/{user_id}/project-access': async (owner) => ({ user_id: owner.user.id }),
  'POST /projects/{projectId}/integrations/{integrationId}/hook': (owner) => sampleIntegration(owner),
  'GET /orders/download': async (owner) => downloadQuery(owner, await sampleBilling(owner)),
  'GET /ref/users': async (owner) => signed(owner, 'users', owner.user.id),
  'GET /ref/teams': async (owner) => signed(owner, 'teams', (await sampleTeam(owner)).team_id),
  'GET /ref/organizations': async (owner) => signed(owner, 'organizations', (await sampleOrganization(owner)).organization_id),
  'GET /ref/projects': async (owner) => signed(owner, 'projects', (await sampleProject(owner)).project_id),
  'GET /ref/regions': async (owner) => signed(owner, 'regions', owner.home.platform.config.region.id),
};

const signed = ({ home, user }: Person, set: string, id: string) => ({
  '?': signedReference(set, [id, absentUuid], user, home.platform.secrets).split('?')[1] ?? '',
});

/** Makes a fresh target for the operation; answers what fills the braces of its path. */
export async function sampleAddress({ on, endpoint, query }: Operation, owner: Person): Promise<Address> {
  if (!on) return addressOf[endpoint] ? addressOf[endpoint](owner) : {};
  const address = await sampleEntity(on, owner);
  await preparedFor[endpoint]?.(owner, address);
  const { required = [] } = query ? (documentedQuery(query) as { required?: string[] }) : {};
  return required.length === 0 ? address : { ...address, '?': required.map((name) => requiredParameters[name]?.()).join('&') };
}

/** Of what these operations are about, nothing is ever made: whoever is let through is told that there is none. */
export const thereIsNone = ({ path }: Operation) => path.includes('/observability/profiles/{uuid}/');

/** Operations that are published, and that this installation refuses to everybody. */
export const isAlwaysRefused = ({ method, path }: Operation) =>
  method !== 'GET' && (path.startsWith('/projects/{projectId}/deployments') || path === '/payments/events');

/** What parameters are sent that an operation cannot do without: about the last hour. */
const requiredParameters: Record<string, () => string> = {
  from: () => `from=${Math.floor(Date.now() / 1000) - 3600}`,
  to: () => `to=${Math.floor(Date.now() / 1000)}`,
  keys: () => 'keys[]=wt&keys[]=rpms',
};

/** What has to be so with a sample for an operation to be possible. */
const preparedFor: Record<string, (owner: Person, address: Address) => Promise<void>> = {
  'POST /organizations/{organization_id}/orders/{order_id}/authorize': withAuthorization,
  'POST /projects/{projectId}/environments/{environmentId}/branch': withCode,
  'POST /projects/{projectId}/environments/{environmentId}/merge': withCode,
  'POST /projects/{projectId}/environments/{environmentId}/synchronize': withCode,
  'POST /projects/{projectId}/environments/{environmentId}/activate': withCode,
  'POST /projects/{projectId}/environments/{environmentId}/deactivate': inStatus('active'),
  'POST /projects/{projectId}/environments/{environmentId}/pause': inStatus('active'),
  'POST /projects/{projectId}/environments/{environmentId}/resume': inStatus('paused'),
  'POST /projects/{projectId}/environments/{environmentId}/redeploy': inStatus('active'),
  'POST /projects/{projectId}/environments/{environmentId}/maintenance-redeploy': inStatus('active'),
  'POST /projects/{projectId}/environments/{environmentId}/domains': withProductionDomain,
  'POST /projects/{projectId}/environments/{environmentId}/backup': deployed,
  'POST /projects/{projectId}/environments/{environmentId}/terminals': withRunningApp,
  'POST /projects/{projectId}/environments/{environmentId}/deploy': deployedByHand,
  'POST /projects/{projectId}/environments/{environmentId}/rollback': deployedTwice,
  'POST /projects/{projectId}/environments/{environmentId}/source-operation': withSourceOperation,
  'POST /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}/operations': withRuntimeOperation,
  'GET /projects/{projectId}/activities/{activityId}/log': atItsEnd,
  'GET /projects/{projectId}/environments/{environmentId}/activities/{activityId}/log': atItsEnd,
  'GET /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/log': atItsEnd,
  'POST /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/redeliver': asScript,
  'POST /projects/{projectId}/integrations/{integrationId}/validate': asOneThatAsksNobody,
};

export async function sampleEntity({ name }: Entity, owner: Person): Promise<Address> {
  const sample = sampleOf[name];
  if (!sample) throw new Error(`Say in testing/samples.ts how to make a sample ${name}.`);
  return sample(owner);
}
