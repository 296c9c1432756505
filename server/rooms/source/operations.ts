import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { array, one, operation, plain } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { ProjectEntity } from '../projects/public.ts';
import { BlobEntity, CommitEntity, commitOf, Diff, refRow, RefEntity, TreeEntity } from './repository.ts';
import { isShown, mayReadSomething, requireCommit, visibilityFor } from './visibility.ts';

export const listRepositoryRefs = operation({
  summary: 'List the branches and tags of a repository',
  endpoint: 'GET /projects/{projectId}/git/refs',
  on: ProjectEntity,
  permission: 'project:view',
  returns: array(RefEntity),
  async handle({ caller, target }, platform) {
    if (!(await platform.git.exists(target.id))) return [];
    const visibility = await visibilityFor(platform, caller, target);
    const refs = await platform.git.refs(target.id);
    return refs.filter(({ name }) => isShown(visibility, name)).map((ref) => refRow(target, ref));
  },
});

export const getRepositoryRef = operation({
  summary: 'Get a branch or a tag',
  endpoint: 'GET /projects/{projectId}/git/refs/{repositoryRefId}',
  on: RefEntity,
  permission: 'project:view',
  returns: one(RefEntity),
  async handle({ caller, target }, platform) {
    if (isShown(await visibilityFor(platform, caller, target.project), target.ref)) return target;
    throw new Problem('not-found', 'No such ref.');
  },
});

export const getRepositoryCommit = operation({
  summary: 'Get a commit',
  endpoint: 'GET /projects/{projectId}/git/commits/{repositoryCommitId}',
  on: CommitEntity,
  permission: 'project:view',
  returns: one(CommitEntity),
  async handle({ caller, target }, platform) {
    await requireCommit(platform, caller, target.project, target.sha);
    return target;
  },
});

export const getRepositoryTree = operation({
  summary: 'Get a folder of a commit, one level deep',
  endpoint: 'GET /projects/{projectId}/git/trees/{repositoryTreeId}',
  on: TreeEntity,
  permission: 'project:view',
  returns: one(TreeEntity),
  async handle({ caller, target }) {
    if (mayReadSomething(caller, target.project)) return target;
    throw new Problem('not-found', 'No such tree.');
  },
});

export const getRepositoryBlob = operation({
  summary: 'Get the contents of a file',
  endpoint: 'GET /projects/{projectId}/git/blobs/{repositoryBlobId}',
  on: BlobEntity,
  permission: 'project:view',
  returns: one(BlobEntity),
  async handle({ caller, target }) {
    if (mayReadSomething(caller, target.project)) return target;
    throw new Problem('not-found', 'No such blob.');
  },
});

export const listRepositoryDiffs = operation({
  summary: 'Compare two commits, file by file',
  endpoint: 'GET /projects/{projectId}/git/diffs/{diffBaseId}/{diffTargetId}',
  on: CommitEntity,
  find: ({ projectId, diffTargetId }, _caller, platform) => commitOf(platform, projectId, diffTargetId),
  permission: 'project:view',
  returns: plain(Type.Array(Diff)),
  async handle({ caller, target: { project, sha }, params: { diffBaseId } }, platform) {
    if (!(await platform.git.commit(project.id, diffBaseId))) throw new Problem('not-found', 'No such commit.');
    for (const commit of [diffBaseId, sha]) await requireCommit(platform, caller, project, commit);
    const files = await platform.git.diff(project.id, diffBaseId, sha);
    return files.map((file) => ({ id: idOf([diffBaseId, sha, file.old_path, file.new_path]), ...file }));
  },
});

const idOf = (parts: readonly (string | null)[]) => createHash('sha1').update(JSON.stringify(parts)).digest('hex');
