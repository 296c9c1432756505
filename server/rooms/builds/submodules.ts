/**
 * The submodules of a commit, fetched before anything is made of it, and once for a project.
 *
 * Another project of this installation can be a submodule where it is of the same organization, and whoever started the activity may see all of
 * it, as if they had cloned it; nobody gets to read a project by naming one of its commits. What a project has once got so stays with it.
 */
import type { Config } from '../../config.ts';
import type { Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { environmentTypes, rolesIn } from '../../permissions.ts';
import type { Platform } from '../../platform.ts';
import { projectById } from '../projects/public.ts';
import { grantsIn } from './queries.ts';
import { treeOfCommit } from './source-tree.ts';

interface Asked {
  activity: Pick<Activity, 'project_id' | 'parameters'>;
  commit: string;
  log(line: string): void;
  signal: AbortSignal;
}

/** Logs nothing for commits without submodules. Throws a Problem that names the submodule that cannot be fetched. */
export async function fetchSubmodules(
  { git, db, config }: Pick<Platform, 'git' | 'db' | 'config'>,
  { activity, commit, log, signal }: Asked,
): Promise<void> {
  const projectId = activity.project_id;
  const { tree, hasSubmodules } = await treeOfCommit(git, projectId, commit);
  if (!hasSubmodules) return;
  log('Validating submodules');
  await git.withSubmodules(projectId, tree, {
    log,
    signal,
    projectAt: (url) => projectAt(url, config),
    mayUse: (other, path) => checkUse(db, { projectId, other, path, userId: starterOf(activity) }),
  });
}

const starterOf = ({ parameters }: Asked['activity']): string | undefined =>
  typeof parameters === 'object' && parameters !== null && 'user' in parameters && typeof parameters.user === 'string'
    ? parameters.user
    : undefined;

/** `https://<platform>/git/<project>.git`, `<project>@git.<domain>:<project>.git` and `ssh://git@<host>/<project>.git`. */
export function projectAt(text: string, { url, domain }: Pick<Config, 'url' | 'domain'>): string | undefined {
  const [, scpHost, scpId] = /^(?:[^@/]+@)?([^:/]+):\/?([a-z0-9]{1,64})(?:\.git)?$/.exec(text) ?? [];
  const platform = new URL(url);
  const hosts = new Set([platform.hostname, `git.${domain}`, `ssh.${domain}`]);
  if (scpHost !== undefined) return hosts.has(scpHost) ? scpId : undefined;
  const parsed = URL.parse(text);
  if (!parsed || !hosts.has(parsed.hostname)) return undefined;
  const path =
    parsed.protocol === 'ssh:' ? parsed.pathname : parsed.host === platform.host ? parsed.pathname.replace(/^\/git(?=\/)/, '') : '';
  return /^\/([a-z0-9]{1,64})(?:\.git)?\/?$/.exec(path)?.[1];
}

interface Use {
  projectId: string;
  other: string;
  path: string;
  userId: string | undefined;
}

async function checkUse(db: Db, { projectId, other, path, userId }: Use): Promise<void> {
  const [here, there] = await Promise.all([projectById(db, projectId), projectById(db, other)]);
  const isNear = there !== undefined && there.organization_id === here?.organization_id;
  if (isNear && userId !== undefined && (await seesAll(db, userId, other, there.organization_id))) return;
  throw new Problem(
    'invalid-request',
    `The submodule '${path}' cannot be fetched: there is no project ${other} in the same organization that the person who started this may see in full.`,
  );
}

async function seesAll(db: Db, userId: string, project: string, organization: string): Promise<boolean> {
  const { isOwner, permissions } = await grantsIn(db, userId, project, organization);
  const membership = { id: organization, permissions: [], owner: isOwner, enforce_mfa: false };
  const grants = { organizations: [membership], projects: new Map([[project, permissions]]) };
  return environmentTypes.every((environmentType) =>
    rolesIn({ id: userId, is_operator: false }, grants, { project, organization, environmentType }).includes('environment:viewer'),
  );
}
