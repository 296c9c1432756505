/** One of everything, for the tests that try every operation. A new entity has its line here, or those tests say so. */
import { randomBytes } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { testCertificate } from '../drivers/certificates/x509/test-certificates.ts';
import type { Git } from '../drivers/git/git.ts';
import { appendLog } from '../drivers/logs/append-log.ts';
import { ensureLogs, logFile, logsOf } from '../drivers/logs/log-folders.ts';
import { startActivity } from '../kernel/activity.ts';
import { signedReference } from '../kernel/hal.ts';
import { shortId, ulid } from '../kernel/id.ts';
import { documentedQuery } from '../kernel/openapi.ts';
import type { Entity, Operation } from '../kernel/operation.ts';
import { logsFolder } from '../machine.ts';
import { insertBackup, makeRestorable } from '../rooms/backups/public.ts';
import { startCronsAt } from '../rooms/crons/work.ts';
import { currentStack } from '../rooms/deployments/public.ts';
import { machineName } from '../rooms/environments/public.ts';
import { createDefaultEnvironment, pushActivity } from '../rooms/environments/work.ts';
import { insertProject } from '../rooms/projects/public.ts';
import { deploySample } from './deployment.ts';
import { identityBodies, identitySamples } from './identity.ts';
import type { Person } from './platform.ts';
import { commitFiles } from './repository.ts';
import { app, shop, task } from './stack.ts';

type Address = Record<string, string>;

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

/** What the first start makes, with nobody waiting for newer images. */
export async function sampleInstallation({ home }: Person) {
  await home.platform.db
    .insertInto('installation')
    .defaultValues()
    .onConflict((conflict) => conflict.column('only_one').doUpdateSet({ image_update_asked_at: null }))
    .execute();
  return {};
}

/** A ticket with a file. */
async function sampleTicket(owner: Person) {
  const attachments = [{ filename: 'trace.txt', data: 'aGVsbG8=' }];
  const { json } = await owner.send('POST', '/tickets', { subject: 'Sample', description: 'It is slow.', attachments });
  const ticket_id = String(json.ticket_id);
  const { json: attached } = await owner.send('GET', `/tickets/${ticket_id}/attachments`);
  return { ticket_id, attachment_id: String(attached.attachments[0].id) };
}

/** A team in a new organization of the owner's, with a member whose id comes along. */
export async function sampleTeam(owner: Person) {
  const { organization_id } = await sampleOrganization(owner);
  const { json } = await owner.send('POST', '/teams', { organization_id, label: 'Sample', project_permissions: ['viewer'] });
  const user_id = await sampleMember(owner, organization_id);
  await owner.send('POST', `/teams/${json.id}/members`, { user_id });
  return { organization_id, team_id: String(json.id), user_id };
}

/** A new project, active and without code. It is written straight into the tables, because so many are needed. */
export async function sampleProject(owner: Person, organizationId?: string) {
  const organization_id = organizationId ?? (await sampleOrganization(owner)).organization_id;
  const { platform } = owner.home;
  const id = await platform.db.transaction().execute(async (tx) => {
    const region = platform.config.region.id;
    const project = await insertProject(tx, {
      id: shortId(),
      organization_id,
      region,
      title: 'Sample',
      status: 'active',
      owner_id: owner.user.id,
    });
    await createDefaultEnvironment(tx, project);
    return project.id;
  });
  await sampleRepository(platform.git, id);
  return { organization_id, projectId: id, project_id: id };
}

/** A copy of an empty repository: starting Git for each project would take most of the time. */
async function sampleRepository(git: Git, projectId: string) {
  const original = 'original';
  await git.create(original, 'main');
  await cp(git.path(original), git.path(projectId), { recursive: true });
}

async function sampleSubscription(owner: Person) {
  const { organization_id, project_id } = await sampleProject(owner);
  const { json } = await owner.send('GET', `/organizations/${organization_id}/projects/${project_id}`);
  return { organization_id, subscription_id: String(json.subscription_id), subscriptionId: String(json.subscription_id), project_id };
}

/** Two commits on the branch of a staging environment. */
async function sampleCode(owner: Person) {
  const { git } = owner.home.platform;
  const environment = await sampleEnvironment(owner);
  const { projectId, environmentId } = environment;
  const diffBaseId = commitFiles(git.path(projectId), undefined, { 'README.md': 'one\n' });
  const diffTargetId = commitFiles(git.path(projectId), diffBaseId, { 'README.md': 'two\n' });
  await git.moveBranch(projectId, environmentId, undefined, diffTargetId);
  const repositoryTreeId = (await git.commit(projectId, diffTargetId))?.tree ?? '';
  const repositoryBlobId = (await git.tree(projectId, repositoryTreeId))?.[0]?.sha ?? '';
  const repositoryRefId = `heads/${environmentId}`;
  return {
    ...environment,
    diffBaseId,
    diffTargetId,
    repositoryRefId,
    repositoryCommitId: diffTargetId,
    repositoryTreeId,
    repositoryBlobId,
  };
}

/** A staging environment without code, of a branch whose name has to be escaped. */
export async function sampleEnvironment(owner: Person) {
  const project = await sampleProject(owner);
  const environmentId = 'feature/sample';
  await owner.home.platform.db
    .insertInto('environments')
    .values({
      project_id: project.projectId,
      id: environmentId,
      machine_name: machineName(environmentId, project.projectId),
      title: 'Sample',
      type: 'staging',
    })
    .execute();
  return { ...project, environmentId };
}

/** Names that no other sample has. */
const sampleNames = ({ projectId = '' }: Address) => ({ production: `www.${projectId}.example`, elsewhere: `stage.${projectId}.example` });

/** Of production. */
async function sampleDomain(owner: Person) {
  const project = await sampleProject(owner);
  await withProductionDomain(owner, project);
  return { ...project, domainId: sampleNames(project).production };
}

/** Of an environment for staging, in the place of one of production. */
async function sampleEnvironmentDomain(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { production, elsewhere } = sampleNames(environment);
  await withProductionDomain(owner, environment);
  const body = { name: elsewhere, replacement_for: production };
  await owner.send('POST', fill('/projects/{projectId}/environments/{environmentId}/domains', environment), body);
  return { ...environment, domainId: elsewhere };
}

async function withProductionDomain(owner: Person, address: Address) {
  await owner.send('POST', fill('/projects/{projectId}/domains', address), { name: sampleNames(address).production });
}

/** A certificate that has signed itself, with its key. */
async function sampleCertificate() {
  const { pem, keyPem } = await testCertificate('Sample', { names: ['www.example.org'] });
  return { certificate: pem, key: keyPem };
}

async function sampleUserAccess(owner: Person) {
  const { organization_id, project_id } = await sampleProject(owner);
  const user_id = await sampleMember(owner, organization_id);
  await owner.send('POST', `/projects/${project_id}/user-access`, [{ user_id, permissions: ['viewer'] }]);
  return { project_id, user_id };
}

async function sampleTeamAccess(owner: Person) {
  const { organization_id, team_id } = await sampleTeam(owner);
  const { project_id } = await sampleProject(owner, organization_id);
  await owner.send('POST', `/projects/${project_id}/team-access`, [{ team_id }]);
  return { project_id, team_id };
}

const organizationOfTeam = async (owner: Person, { team_id }: Address): Promise<string> =>
  (await owner.send('GET', `/teams/${team_id}`)).json.organization_id;

/** An organization whose owner has a second factor, and so may ask its members for theirs. */
export async function sampleOrganization(owner: Person) {
  await owner.home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', owner.user.id).execute();
  const { json } = await owner.send('POST', '/organizations', { label: 'Sample' });
  return { organization_id: String(json.id) };
}

const freshEmail = () => `${crypto.randomUUID()}@example.org`;

async function sampleInvitation(owner: Person, path: string, address: Address) {
  const { json } = await owner.send('POST', path, { email: freshEmail(), permissions: [] });
  return { ...address, invitation_id: String(json.id) };
}

/** Adds somebody else to the organization; answers with the id of the user. */
export async function sampleMember(owner: Person, organizationId: string, permissions: string[] = []): Promise<string> {
  const { user } = await owner.home.person();
  await owner.send('POST', `/organizations/${organizationId}/members`, { user_id: user.id, permissions });
  return user.id;
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

/** An integration with a host of code. */
async function sampleIntegration(owner: Person, project?: Awaited<ReturnType<typeof sampleProject>>) {
  const address = project ?? (await sampleProject(owner));
  const body = { type: 'github', token: 'sample', repository: 'acme/sample' };
  const { json } = await owner.send('POST', `/projects/${address.projectId}/integrations`, body);
  return { ...address, integrationId: String(json._embedded.entity.id) };
}

/** A pull request from a fork, as a code host would have told of it. */
async function samplePullRequest(owner: Person) {
  const integration = await sampleIntegration(owner);
  const details = {
    number: 7,
    title: 'Faster',
    state: 'open',
    isDraft: false,
    isFromFork: true,
    sourceBranch: 'faster',
    targetBranch: 'main',
    commit: 'f'.repeat(40),
    url: 'https://github.com/acme/sample/pull/7',
    source: { head: 'refs/pull/7/head' },
  };
  const row = { integration_id: integration.integrationId, number: details.number, details: JSON.stringify(details) };
  await owner.home.platform.db.insertInto('pull_requests').values(row).execute();
  return { ...integration, pullRequestNumber: String(details.number) };
}

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
export const isAlwaysRefused = ({ method, path }: Operation) => method !== 'GET' && path.startsWith('/projects/{projectId}/deployments');

/** What parameters are sent that an operation cannot do without: about the last hour. */
const requiredParameters: Record<string, () => string> = {
  from: () => `from=${Math.floor(Date.now() / 1000) - 3600}`,
  to: () => `to=${Math.floor(Date.now() / 1000)}`,
  keys: () => 'keys[]=wt&keys[]=rpms',
};

/** What has to be so with a sample for an operation to be possible. */
const preparedFor: Record<string, (owner: Person, address: Address) => Promise<void>> = {
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

/** Makes the integration one that can do what it is for without a host that would have to agree. */
async function asOneThatAsksNobody({ home: { platform } }: Person, { integrationId = '' }: Address) {
  await platform.db.updateTable('integrations').set({ type: 'blackfire' }).where('id', '=', integrationId).execute();
}

/** Makes a script of the activity, which has been run for the integration and is of no environment. */
async function asScript({ home: { platform } }: Person, { integrationId = '', activityId = '' }: Address) {
  const told = { activity: activityId, activity_type: 'environment.push', state: 'complete', result: 'success', completion_percent: 100 };
  await platform.db
    .updateTable('activities')
    .set({
      type: 'integration.script',
      state: 'complete',
      environments: [],
      environment_types: [],
      input: JSON.stringify({ integration: integrationId, ...told }),
    })
    .where('id', '=', activityId)
    .execute();
}

/** Ends the activity: the log of one that waits would not end, either. */
async function atItsEnd({ home: { platform } }: Person, { activityId = '' }: Address) {
  await platform.db.updateTable('activities').set({ state: 'complete' }).where('id', '=', activityId).execute();
}

/** Gives the environment this status in its row; nothing runs. */
function inStatus(status: string) {
  return async ({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) =>
    void (await platform.db
      .updateTable('environments')
      .set({ status, head_commit: 'a'.repeat(40) })
      .where('project_id', '=', projectId)
      .where('id', '=', environmentId)
      .execute());
}

/** A running environment with changes that wait for a manual deployment. */
async function deployedByHand(owner: Person, address: Address) {
  await inStatus('active')(owner, address);
  const { projectId = '', environmentId = '' } = address;
  await owner.home.platform.db
    .updateTable('environments')
    .set({ enable_manual_deployments: true })
    .where('project_id', '=', projectId)
    .where('id', '=', environmentId)
    .execute();
}

async function deployed({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  await deploySample(platform, { projectId, environmentId });
}

/** An environment whose app counts as something to get into. */
async function withRunningApp(owner: Person, address: Address) {
  await deployed(owner, address);
  const { projectId = '', environmentId = '' } = address;
  await owner.home.platform.db
    .updateTable('deployments')
    .set({ generations: JSON.stringify({ shop: 'sample' }) })
    .where('project_id', '=', projectId)
    .where('environment_id', '=', environmentId)
    .execute();
}

/** An environment with an earlier deployment, of which everything is kept. */
async function deployedTwice({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const at = { projectId, environmentId };
  const first = await deploySample(platform, at, { commit_id: 'b'.repeat(40) });
  await deploySample(platform, at, { id: first.id, deployment: { ...first.deployment, id: shortId(), number: 2 } });
  for (const [app, { slug_id, tree_id, config_id }] of Object.entries(first.slugs)) {
    const volume = `slug-${shortId()}`;
    await platform.db
      .insertInto('slugs')
      .values({ id: slug_id, project_id: projectId, app, tree_id, config_id, volume, bytes: '1' })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** An environment with commits, and with a parent of the same type that has some, too. */
async function withCode({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const head_commit = 'a'.repeat(40);
  const parent = {
    project_id: projectId,
    id: 'base',
    machine_name: machineName('base', projectId),
    title: 'Base',
    type: 'staging',
    head_commit,
  };
  await platform.db.insertInto('environments').values(parent).execute();
  const change = { head_commit, parent: parent.id };
  await platform.db.updateTable('environments').set(change).where('project_id', '=', projectId).where('id', '=', environmentId).execute();
}

/** An environment with an app that defines the source operation `update`. */
async function withSourceOperation({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const config = 'applications: { app: { type: "nodejs:22", source: { operations: { update: { command: "true" } } } } }';
  const head_commit = commitFiles(platform.git.path(projectId), undefined, { '.upsun/config.yaml': config });
  await platform.git.moveBranch(projectId, environmentId, undefined, head_commit);
  const change = platform.db.updateTable('environments').set({ head_commit });
  await change.where('project_id', '=', projectId).where('id', '=', environmentId).execute();
}

/** An environment with an app that defines an operation for contributors. */
async function withRuntimeOperation({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const operations = { 'clear-cache': { role: 'contributor', commands: { start: 'true', stop: null }, timeout: null } } as const;
  const model = { ...shop(), applications: { app: app('app', { operations }) } };
  const { id } = (await currentStack(platform.db, platform.secrets, projectId, environmentId)) ?? {};
  if (id === undefined) throw new Error('Nothing is deployed');
  const deployment = { id: shortId(), number: 2, created_at: '2026-11-15T10:00:00Z' };
  await deploySample(platform, { projectId, environmentId }, { id, model, deployment });
}

/** The deployment of a staging environment, with a route by its name. */
async function sampleDeployment(owner: Person) {
  const environment = await sampleEnvironment(owner);
  await deploySample(owner.home.platform, environment);
  return { ...environment, deploymentId: 'current', routeId: 'front' };
}

/** A backup of a staging environment. There is only its row: nothing is in the store. */
export async function sampleBackup(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { db, secrets } = owner.home.platform;
  const stack = await deploySample(owner.home.platform, environment);
  const id = ulid();
  const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
  await db.transaction().execute(async (tx) => {
    await insertBackup(tx, secrets, { id, stack, safe: true, slot: null, activity_id: null });
    await makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 512, size_used: 1, taken_at: new Date().toISOString() });
  });
  return { ...environment, backupId: id };
}

/** A task of an active staging environment. */
async function sampleTask(owner: Person) {
  const environment = await sampleEnvironment(owner);
  await deploySample(owner.home.platform, environment, { model: { ...shop(), tasks: { report: task('report') } } });
  return { ...environment, taskId: 'report' };
}

/** A cron of an app in a staging environment, with its next time. */
async function sampleCron(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const crons = { tidy: { spec: '0 3 * * *', commands: { start: 'echo tidy', stop: null }, shutdown_timeout: 10, timeout: 60 } };
  const { platform } = owner.home;
  await deploySample(platform, environment, { model: { ...shop(), applications: { app: app('app', { crons }) } } });
  await startCronsAt(platform, new Date());
  return { ...environment, app: 'app', name: 'tidy' };
}

/** A log of an app in a staging environment, with a line in it. */
export async function sampleLog(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { projectId, environmentId } = environment;
  const logs = logsOf(logsFolder(owner.home.platform.config), `${projectId}-${machineName(environmentId, projectId)}`);
  await ensureLogs(logs, ['app']);
  await appendLog(logFile(logs, 'app', 'app'), 'hello\n');
  return { ...environment, app: 'app', name: 'app' };
}

/** An activity of a staging environment that waits for its turn, and that follows from an integration. */
async function sampleActivity(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { projectId: project_id, environmentId: id } = environment;
  const { integrationId } = await sampleIntegration(owner, environment);
  const activity = await owner.home.platform.db.transaction().execute((tx) =>
    startActivity(tx, pushActivity, {
      project_id,
      environments: [{ id, type: 'staging' }],
      integration: integrationId,
      input: { from: null, to: 'a'.repeat(40), activate: false, deploying: {} },
    }),
  );
  return { ...environment, integrationId, activityId: activity.id };
}

export async function sampleEntity({ name }: Entity, owner: Person): Promise<Address> {
  const sample = sampleOf[name];
  if (!sample) throw new Error(`Say in testing/samples.ts how to make a sample ${name}.`);
  return sample(owner);
}

export const fill = (path: string, address: Address) =>
  path.replaceAll(/{(\w+)}/g, (_, name: string) => encodeURIComponent(address[name] ?? 'absent')) +
  (address['?'] === undefined ? '' : `?${address['?']}`);

const absentUuid = '00000000-0000-4000-8000-000000000000';
const absentUlid = '00000000000000000000000000';

/** Ids that are well-formed, and that nothing has. */
export const absentAddress: Address = {
  user_id: absentUuid,
  userId: absentUuid,
  uuid: absentUuid,
  token_id: absentUuid,
  invitation_id: absentUuid,
  record_id: absentUlid,
  key_id: '999999999',
  email: 'nobody@example.org',
  username: 'nobody',
  organization_id: absentUlid,
  team_id: absentUlid,
  subscription_id: '999999999',
  subscriptionId: '999999999',
  project_id: 'absent',
  environmentTypeId: 'absent',
  projectId: 'absent',
  region_id: 'absent',
  backupId: absentUlid,
  provider: 'absent',
  sid: absentUuid,
  access_id: absentUuid,
  ticket_id: '999999999',
};
