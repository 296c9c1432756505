/** What a repository consists of, as the API tells it. */
import { Type } from 'typebox';
import type { Ref as GitRef, TreeEntry } from '../../drivers/git/git.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { projectById, type Project } from '../projects/public.ts';

const ObjectId = Type.String({ pattern: '^[0-9a-f]{40}$' });

/** Refs, commits, trees and blobs belong to a project, and are looked up in its repository. */
interface InRepository {
  project: Project;
}

const scopeOf = ({ project }: InRepository) => ({ project: project.id, organization: project.organization_id });

async function inRepository<T extends object>(
  { db, git }: Platform,
  projectId: string,
  find: () => Promise<T | undefined>,
): Promise<(T & InRepository) | undefined> {
  const project = await projectById(db, projectId);
  if (!project || !(await git.exists(projectId))) return undefined;
  const found = await find();
  return found && { ...found, project };
}

const refsPrefix = 'refs/';
const shownRef = ({ name, type, sha }: GitRef) => ({ id: name.slice(refsPrefix.length), ref: name, object: { type, sha }, sha });
export const refRow = (project: Project, ref: GitRef) => ({ ...shownRef(ref), project });
export type RefRow = ReturnType<typeof refRow>;

export const RefEntity = entity({
  name: 'ref',
  path: '/projects/{projectId}/git/refs/{repositoryRefId}',
  params: { projectId: ProjectId, repositoryRefId: Type.String({ minLength: 1, maxLength: 500 }) },
  schema: Type.Object({
    id: Type.String({ description: 'Such as heads/main.' }),
    ref: Type.String(),
    object: Type.Object({ type: Type.String(), sha: Type.String() }),
    sha: Type.String(),
  }),
  address: ({ project, id }: RefRow) => ({ projectId: project.id, repositoryRefId: id }),
  scope: (row) => scopeOf(row),
  view: 'project:view',
  load: ({ projectId, repositoryRefId }, platform) =>
    inRepository(platform, projectId, async () => {
      const ref = (await platform.git.refs(projectId)).find(({ name }) => name === `${refsPrefix}${repositoryRefId}`);
      return ref && shownRef(ref);
    }),
});

const Person = Type.Object({ date: Time, name: Type.String(), email: Type.String() });
const person = ({ name, email, date }: { name: string; email: string; date: number }) => ({
  name,
  email,
  date: new Date(Math.min(date, lastSecond) * 1000).toISOString(),
});
/** The last second of the year 9999. Git stores any number of seconds, but a date in the API has four digits for the year. */
const lastSecond = 253_402_300_799;

async function shownCommit({ git }: Platform, projectId: string, sha: string) {
  const commit = await git.commit(projectId, sha);
  return commit && { ...commit, id: sha, author: person(commit.author), committer: person(commit.committer) };
}
type CommitRow = NonNullable<Awaited<ReturnType<typeof shownCommit>>> & InRepository;

export const commitOf = (platform: Platform, projectId: string, sha: string) =>
  inRepository(platform, projectId, () => shownCommit(platform, projectId, sha));

export const CommitEntity = entity({
  name: 'commit',
  path: '/projects/{projectId}/git/commits/{repositoryCommitId}',
  params: { projectId: ProjectId, repositoryCommitId: ObjectId },
  schema: Type.Object({
    id: Type.String(),
    sha: Type.String(),
    author: Person,
    committer: Person,
    message: Type.String(),
    tree: Type.String(),
    parents: Type.Array(Type.String()),
  }),
  address: ({ project, sha }: CommitRow) => ({ projectId: project.id, repositoryCommitId: sha }),
  scope: (row) => scopeOf(row),
  view: 'project:view',
  load: ({ projectId, repositoryCommitId }, platform) => commitOf(platform, projectId, repositoryCommitId),
});

interface TreeRow extends InRepository {
  id: string;
  sha: string;
  tree: TreeEntry[];
}

export const TreeEntity = entity({
  name: 'tree',
  path: '/projects/{projectId}/git/trees/{repositoryTreeId}',
  params: { projectId: ProjectId, repositoryTreeId: ObjectId },
  schema: Type.Object({
    id: Type.String(),
    sha: Type.String(),
    tree: Type.Array(
      Type.Object({
        path: Type.String(),
        mode: Type.String({ enum: ['040000', '100644', '100664', '100755', '120000', '160000'] }),
        type: Type.String({ enum: ['blob', 'tree', 'commit'] }),
        sha: nullable(Type.String()),
      }),
    ),
  }),
  address: ({ project, sha }: TreeRow) => ({ projectId: project.id, repositoryTreeId: sha }),
  scope: (row) => scopeOf(row),
  view: 'project:view',
  load: ({ projectId, repositoryTreeId: sha }, platform) =>
    inRepository(platform, projectId, async () => {
      const tree = await platform.git.tree(projectId, sha);
      return tree && { id: sha, sha, tree };
    }),
});

interface BlobRow extends InRepository {
  id: string;
  sha: string;
  size: number;
  encoding: 'base64';
  content: string;
}

export const BlobEntity = entity({
  name: 'blob',
  path: '/projects/{projectId}/git/blobs/{repositoryBlobId}',
  params: { projectId: ProjectId, repositoryBlobId: ObjectId },
  schema: Type.Object({
    id: Type.String(),
    sha: Type.String(),
    size: Type.Integer(),
    encoding: Type.String({ enum: ['base64', 'utf-8'] }),
    content: Type.String(),
  }),
  address: ({ project, sha }: BlobRow) => ({ projectId: project.id, repositoryBlobId: sha }),
  scope: (row) => scopeOf(row),
  view: 'project:view',
  load: ({ projectId, repositoryBlobId: sha }, platform) =>
    inRepository(platform, projectId, async () => {
      const content = await platform.git.blob(projectId, sha);
      return content && { id: sha, sha, size: content.length, encoding: 'base64' as const, content: content.toString('base64') };
    }),
});

export const Diff = Type.Object({
  id: Type.String(),
  diff: Type.String(),
  old_path: nullable(Type.String()),
  old_id: nullable(Type.String()),
  new_path: nullable(Type.String()),
  new_id: nullable(Type.String()),
});
