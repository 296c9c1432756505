/**
 * Starts restoring a backup, into its own environment or another. What was in one environment becomes readable to everybody who sees the other, so it
 * takes the right to administer both; a new one may be made by whoever could branch it off.
 */
import type { Changed } from '../../kernel/operation.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Permission, Platform } from '../../platform.ts';
import { actorOf, changed } from '../activities/public.ts';
import { environmentById, isBranchName, lockTree, type Environment } from '../environments/public.ts';
import { createEnvironment } from '../environments/work.ts';
import { backupLife } from './life-cycle.ts';
import { backupById, type Backup } from './queries.ts';
import { checkRestore } from './check-restore.ts';
import { startRestoring } from './restore-backup.ts';
import { environmentLife } from '../environments/life-cycle.ts';

export const mayRestore = ({ state, is_being_deleted }: Backup) => backupLife.possible(state, 'restore') && !is_being_deleted;
export const noRestore = ({ id, state }: Backup) => backupLife.otherwise(state, 'restore').replace('{id}', id);

export interface WantedRestore {
  environment_name?: string | null;
  branch_from?: string | null;
  restore_code?: boolean;
  restore_resources?: boolean;
  resources?: { init?: 'backup' | 'default' | 'minimum' | 'parent' | null } | null;
}

export async function startRestore(platform: Platform, backup: Backup, wanted: WantedRestore, caller: Caller): Promise<Changed<Backup>> {
  const { project_id, organization_id, environment: origin, id } = backup;
  const { restore_code = true, restore_resources = true } = wanted;
  const manner = { restoresCode: restore_code, restoresSizes: restore_resources, init: wanted.resources?.init ?? 'backup' };
  const refuse = await checkRestore(platform, backup, {
    environment: wanted.environment_name ?? origin,
    branchFrom: wanted.branch_from ?? origin,
    ...manner,
  });
  return platform.db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const now = await backupById(tx, project_id, origin, id);
    if (!now || !mayRestore(now)) throw new Problem('conflict', noRestore(now ?? backup));
    const { target, branchFrom } = await targetOf(tx, platform, now, wanted, caller);
    if (!restore_code && !target.has_code && !target.has_deployment && branchFrom === undefined)
      throw new Problem('conflict', `There is no code in ${target.id}; push some, or restore the code of the backup, too.`);
    await refuse(tx, target);
    const activity = await startRestoring(
      tx,
      now,
      target,
      { ...manner, ...(branchFrom !== undefined && { branchFrom }) },
      actorOf(caller.user),
    );
    return changed({ ...now, is_being_restored: true }, organization_id, activity);
  });
}

interface Target {
  target: Environment;
  /** Where the branch starts, if the environment was just made. */
  branchFrom?: string;
}

async function targetOf(tx: Tx, platform: Platform, backup: Backup, wanted: WantedRestore, caller: Caller): Promise<Target> {
  const { project_id } = backup;
  const name = wanted.environment_name ?? backup.environment;
  const target = await environmentById(tx, platform.config.domain, project_id, name);
  if (!target) return newTarget(tx, platform, backup, name, wanted.branch_from ?? undefined, caller);
  if (!mayIn(target, 'environment:admin', caller))
    throw new Problem('forbidden', `You do not administer ${name}, so you cannot replace its data.`);
  if (!environmentLife.possible(target.status, 'restore'))
    throw new Problem('conflict', `${name} is being deleted; restore the backup into another environment.`);
  if (target.is_dirty) throw new Problem('conflict', `Something is happening to ${name}; restore the backup when that is over.`);
  return { target };
}

const mayIn = ({ project_id, organization_id, type }: Environment, permission: Permission, caller: Caller) =>
  caller.can(permission, { project: project_id, organization: organization_id, environmentType: type });

/** The name is taken at once; the branch follows in the activity, and if that fails the name is free again. */
async function newTarget(
  tx: Tx,
  { config }: Platform,
  backup: Backup,
  name: string,
  branchFrom: string | undefined,
  caller: Caller,
): Promise<Target> {
  const { project_id } = backup;
  const find = (id: string) => environmentById(tx, config.domain, project_id, id);
  if (!isBranchName(name)) throw invalidField('environment_name', 'must be a name that Git accepts for a branch, such as feature/login');
  const parent = await find(branchFrom ?? backup.environment);
  if (!parent || !mayIn(parent, 'environment:branch', caller))
    throw invalidField('branch_from', `must be an environment to branch ${name} off; there is no ${branchFrom}`);
  if (!parent.has_code || !environmentLife.possible(parent.status, 'branch'))
    throw new Problem(
      'conflict',
      `${name} cannot be branched off ${parent.id}, which has no code or is being deleted; name another branch_from.`,
    );
  await createEnvironment(tx, { project: { id: project_id, default_branch: parent.default_branch }, id: name, parent: parent.id });
  const target = await find(name);
  if (!target) throw new Problem('not-found', 'The environment that was made is gone.');
  if (!mayIn(target, 'environment:branch', caller))
    throw new Problem('forbidden', `You have no access to ${target.type} environments of this project, so you cannot make one.`);
  return { target, branchFrom: parent.id };
}
