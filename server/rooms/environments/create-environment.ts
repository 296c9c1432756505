/** New environments: their place in the tree, their type, their names. The branch itself is Git's. */
import { orConflict, type Db, type Tx } from '../../kernel/sql.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { isBranchName, machineName } from './names.ts';
import { hasDedicated, insertEnvironment } from './queries.ts';
import { allowedTypes } from './types.ts';

export interface NewEnvironment {
  project: { id: string; default_branch: string };
  id: string;
  title?: string | undefined;
  type?: string | undefined;
  parent: string | null;
  head_commit?: string | undefined;
  clone_parent_on_create?: boolean | undefined;
  is_pr?: boolean | undefined;
  is_from_fork?: boolean | undefined;
}

const environmentsMax = 1000;

export async function createEnvironment(tx: Tx, environment: NewEnvironment) {
  const {
    project,
    id,
    title,
    parent,
    head_commit = null,
    clone_parent_on_create = true,
    is_pr = false,
    is_from_fork = false,
  } = environment;
  if (!isBranchName(id)) throw invalidField('name', branchNameRule);
  if (id === parent) throw new Problem('conflict', nameTaken(id));
  await refuseNewNames(tx, project.id, [id]);
  const type = typeFor(environment, await hasDedicated(tx, project.id));
  const row = insertEnvironment(tx, {
    project_id: project.id,
    id,
    machine_name: machineName(id, await nameSaltOf(tx, project.id)),
    title: title === undefined || title === '' ? titleOf(id) : title,
    type,
    parent,
    head_commit,
    clone_parent_on_create,
    is_pr,
    is_from_fork,
    enable_smtp: type === 'production',
    sleep_after_seconds: parent === null ? null : await sleepAfterOf(tx, project.id, parent),
  });
  return orConflict(row, { environments_pkey: nameTaken(id), environments_project_id_machine_name_key: nameTaken(id) });
}

const nameTaken = (id: string) => `There is already an environment ${id}; choose another name.`;

/** The salt of machine names. A machine name is made once and kept with the environment, so that its addresses stay. */
async function nameSaltOf(db: Db | Tx, projectId: string): Promise<string> {
  const { name_salt } = await db.selectFrom('projects').select('name_salt').where('id', '=', projectId).executeTakeFirstOrThrow();
  return name_salt;
}

/** The parent's setting of when to sleep: like other settings, a new branch takes it over. */
async function sleepAfterOf(tx: Tx, projectId: string, parent: string): Promise<number | null> {
  const row = await tx
    .selectFrom('environments')
    .select('sleep_after_seconds')
    .where('project_id', '=', projectId)
    .where('id', '=', parent)
    .executeTakeFirst();
  return row?.sleep_after_seconds ?? null;
}

export const branchNameRule = 'must be a name that Git accepts for a branch, such as feature/login';

/** Usual names of default branches are capitalized: `main` is shown as «Main». Every other branch is shown by its name. */
const titleOf = (id: string) => (/^(main|master|production|staging|develop)$/.test(id) ? id.charAt(0).toUpperCase() + id.slice(1) : id);

function typeFor({ project, id, type }: NewEnvironment, projectIsDedicated: boolean): EnvironmentType {
  const allowed = allowedTypes({ isDefaultBranch: id === project.default_branch, isDedicated: false, projectIsDedicated });
  if (type === undefined) return allowed[0];
  const chosen = allowed.find((each) => each === type);
  if (!chosen) throw invalidField('type', typeRule(allowed));
  return chosen;
}

export const typeRule = (allowed: readonly EnvironmentType[]) => `must be ${allowed.join(' or ')} for this environment`;

/**
 * Refuses names that clash with existing environments: Git keeps no branch `a` beside `a/b`, and no two environments may have the same machine name. Called before
 * Git moves a branch, and again when the environment is made.
 */
export async function refuseNewNames(db: Db | Tx, projectId: string, names: readonly string[]) {
  const rows = await db.selectFrom('environments').select(['id', 'machine_name']).where('project_id', '=', projectId).execute();
  const there = new Map(rows.map(({ id, machine_name }) => [id, machine_name]));
  const salt = await nameSaltOf(db, projectId);
  for (const name of names.filter((each) => !there.has(each))) {
    if (there.size >= environmentsMax)
      throw new Problem('conflict', `A project has at most ${environmentsMax} environments; delete one that is not needed any more.`);
    const inTheWay = [...there].find(
      ([id, machine]) => machine === machineName(name, salt) || id.startsWith(`${name}/`) || name.startsWith(`${id}/`),
    );
    if (inTheWay)
      throw new Problem(
        'conflict',
        `${name} cannot be the name of a new environment, because it clashes with that of another one; choose another name.`,
      );
    there.set(name, machineName(name, salt));
  }
}

/** What a new project begins with: the environment of its default branch, without code. */
export const createDefaultEnvironment = async (tx: Tx, project: { id: string; default_branch: string }): Promise<void> => {
  const existing = await tx
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', project.id)
    .where('id', '=', project.default_branch)
    .executeTakeFirst();
  if (!existing) await createEnvironment(tx, { project, id: project.default_branch, parent: null });
};
