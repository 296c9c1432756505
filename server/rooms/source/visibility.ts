/**
 * Who sees what of a repository. Branches are shown to those who may view their environments. Whoever may view every type of environment sees the
 * whole repository; for others, everything that is not a branch of theirs is hidden. Commits are shown as far as a visible branch has them. Trees and
 * blobs are found by what they contain, so whoever can name one has seen it.
 */
import { Problem } from '../../kernel/problem.ts';
import { environmentTypes } from '../../permissions.ts';
import type { Caller, Platform } from '../../platform.ts';
import type { Project } from '../projects/public.ts';
import { branchTypes } from './queries.ts';

export type Visibility = { isWhole: true } | { isWhole: false; visible: string[]; hidden: string[] };

const scopeOf = ({ id, organization_id }: Project) => ({ project: id, organization: organization_id });

const typesWith = (caller: Caller, project: Project, permission: 'environment:view' | 'environment:push') =>
  environmentTypes.filter((environmentType) => caller.can(permission, { ...scopeOf(project), environmentType }));

export async function visibilityFor({ db }: Pick<Platform, 'db'>, caller: Caller, project: Project): Promise<Visibility> {
  const types: readonly string[] = typesWith(caller, project, 'environment:view');
  if (types.length === environmentTypes.length) return { isWhole: true };
  const branches = await branchTypes(db, project.id);
  const [visible, hidden] = [branches.filter(({ type }) => types.includes(type)), branches.filter(({ type }) => !types.includes(type))];
  return { isWhole: false, visible: visible.map(({ id }) => id), hidden: hidden.map(({ id }) => id) };
}

export const mayPushSomewhere = (caller: Caller, project: Project) => typesWith(caller, project, 'environment:push').length > 0;

export const mayReadSomething = (caller: Caller, project: Project) => typesWith(caller, project, 'environment:view').length > 0;

/**
 * The refs to hide, in the form of Git's setting `transfer.hideRefs`: a name also covers all that is below it, and the last match wins, so the longest names
 * come last. For fetching, everything is hidden but the visible branches. Pushing must be able to add a branch, so only known branches and tags are hidden.
 * `present` are the branches that Git has.
 */
export function hiddenRefs(
  visibility: Visibility,
  service: 'upload-pack' | 'receive-pack',
  { default_branch }: Pick<Project, 'default_branch'>,
  present: readonly string[],
): string[] {
  if (visibility.isWhole) return [];
  const visible = new Set(visibility.visible);
  const known = [...new Set([...visible, ...visibility.hidden, ...(service === 'upload-pack' ? present : [])])]
    .toSorted((a, b) => a.length - b.length)
    .map((branch) => `${visible.has(branch) ? '!' : ''}refs/heads/${branch}`);
  if (service === 'receive-pack') return ['refs/tags', ...known];
  return ['refs', ...(visible.has(default_branch) ? [] : ['HEAD']), ...known];
}

export const isShown = (visibility: Visibility, ref: string) =>
  visibility.isWhole || visibility.visible.some((branch) => ref === `refs/heads/${branch}`);

/** Throws the same Problem for a commit that does not exist and for one that the caller may not see. */
export async function requireCommit({ git, db }: Platform, caller: Caller, project: Project, sha: string): Promise<void> {
  const visibility = await visibilityFor({ db }, caller, project);
  if (visibility.isWhole || (await git.isReachable(project.id, sha, visibility.visible))) return;
  throw new Problem('not-found', 'No such commit.');
}
