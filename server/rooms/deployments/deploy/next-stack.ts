/**
 * What the next deployment of an environment would be made of, if it came now: the code that is there, in the sizes that it would get. Nothing is
 * built for it, and nothing of it is on the machine.
 */
import type { Config } from '../../../config.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { readModel } from '../../builds/work.ts';
import { projectById } from '../../projects/public.ts';
import { effectiveVariables } from '../../variables/public.ts';
import { chosenSizes } from '../sizes/chosen-sizes.ts';
import type { SizesRequest } from './deploy-request.ts';
import { routesOf, sizesFrom } from './ongoing-deployment.ts';
import { circumstancesOf, deploymentDocument, type Deployment } from '../stack/document.ts';
import { currentlyDeployed, stagesCode, subjectOf, type Deployed, type Subject } from '../queries.ts';
import { sizesAsFarAs, usualInit } from '../sizes/sizes.ts';
import type { Stack } from '../stack/stack.ts';

export interface NextStack {
  /** The stack lacks sizes that somebody has yet to choose, and has slugs only of what is already deployed. */
  stack: Stack;
  status: Subject['status'];
  /** Why the code that is there cannot be deployed; the stack is then that of what runs. */
  hindrance: Problem | undefined;
}

/** Undefined: there is no such environment, or nothing in it that could be deployed. */
export async function nextStackOf(platform: Platform, projectId: string, environmentId: string): Promise<NextStack | undefined> {
  const { db, secrets } = platform;
  const subject = await subjectOf(db, projectId, environmentId);
  if (!subject) return undefined;
  const current = await currentlyDeployed(db, secrets, projectId, environmentId);
  const commit = await nextCommitOf(db, subject);
  const { model, hindrance } = await modelOf(platform, projectId, commit, current);
  if (!model) return undefined;
  const stack: Stack = {
    id: subject.stack_id ?? '',
    deployment: { id: 'next', number: 0, created_at: current?.stack.deployment.created_at ?? subject.created_at },
    project: { id: projectId, title: subject.project_title, organization_id: subject.organization_id, entropy: '' },
    environment: { id: environmentId, machine_name: subject.machine_name, type: subject.type, is_main: subject.is_main },
    commit_id: commit ?? '',
    model,
    slugs: model === current?.stack.model ? current.stack.slugs : {},
    sizes: await nextSizes(platform, subject, model, current),
    routes: routesOf(platform, subject, model),
    settings: { http_access: subject.http_access, enable_smtp: subject.enable_smtp, restrict_robots: subject.restrict_robots },
    secrets: { variables: await effectiveVariables(db, secrets, projectId, environmentId), accounts: {} },
  };
  return { stack, status: subject.status, hindrance };
}

export const nextCommitOf = async (db: Db, { project_id, environment_id, head_commit, pinned_commit }: Subject) =>
  pinned_commit === null || (await stagesCode(db, project_id, environment_id)) ? head_commit : pinned_commit;

/** The model of a commit, whether the environment runs that commit or another one. */
export async function modelOf(
  platform: Platform,
  projectId: string,
  commit: string | null,
  current: Deployed | undefined,
): Promise<{ model?: ProjectModel | undefined; hindrance?: Problem }> {
  const running = current?.stack.model;
  if (commit === null || commit === current?.stack.commit_id) return { model: running };
  try {
    return { model: (await readModel(platform, projectId, commit))?.model ?? running };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { model: running, hindrance: error };
  }
}

async function nextSizes({ db, config }: Platform, subject: Subject, model: ProjectModel, current: Deployed | undefined) {
  return sizesAsFarAs(model, await sizesFrom(db, subject, await usualSizes(db, config, subject, current !== undefined))).sizes;
}

/** Where containers that are new get their sizes from, unless somebody says otherwise. */
export async function usualSizes(db: Db | Tx, config: Config, subject: Subject, isDeployed: boolean): Promise<SizesRequest> {
  const { project_id, environment_id, type, parent, clone_parent_on_create } = subject;
  const { byHand } = await chosenSizes(db, project_id, environment_id);
  const init = usualInit(config, { type, sizes_by_hand: byHand });
  return { init, ...(!isDeployed && clone_parent_on_create && parent !== null && { cloneFrom: parent }) };
}

/** Undefined where there is nothing that could be deployed. */
export async function loadNextDeployment(platform: Platform, projectId: string, environmentId: string): Promise<Deployment | undefined> {
  const [next, project] = [await nextStackOf(platform, projectId, environmentId), await projectById(platform.db, projectId)];
  if (!next || !project) return undefined;
  const { stack, status } = next;
  const circumstances = await circumstancesOf(platform, project, stack.environment.type);
  return deploymentDocument(stack, { ...circumstances, id: 'next', updated_at: stack.deployment.created_at, status });
}
