/** Projects, their code, and an environment of one. */
import { cp } from 'node:fs/promises';
import type { Git } from '../../drivers/git/git.ts';
import { shortId } from '../../kernel/id.ts';
import { machineName } from '../../rooms/environments/public.ts';
import { createDefaultEnvironment } from '../../rooms/environments/work.ts';
import { insertProject } from '../../rooms/projects/public.ts';
import type { Person } from '../platform.ts';
import { commitFiles } from '../repository.ts';
import { sampleOrganization } from './organizations.ts';

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

export async function sampleSubscription(owner: Person) {
  const { organization_id, project_id } = await sampleProject(owner);
  const { json } = await owner.send('GET', `/organizations/${organization_id}/projects/${project_id}`);
  return { organization_id, subscription_id: String(json.subscription_id), subscriptionId: String(json.subscription_id), project_id };
}

/** Two commits on the branch of a staging environment. */
export async function sampleCode(owner: Person) {
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
