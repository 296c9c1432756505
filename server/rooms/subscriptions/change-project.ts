/** Changing what a project is called and how it is contracted. A new title and a new default branch are activities: the history tells of them. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { refuseSpending, type ContractTerms } from '../../spending.ts';
import { actorOf, person, sentence, strong } from '../activities/public.ts';
import { chooseDefaultDomain, domainsOfProduction } from '../domains/work.ts';
import { changeDefaultBranch } from '../environments/work.ts';
import { changeProject, projectById, type Project } from '../projects/public.ts';
import { moveDefaultBranchActivity, renameProjectActivity } from './activities.ts';

export interface ProjectChange {
  title?: string | undefined;
  description?: string | undefined;
  attributes?: Record<string, string> | undefined;
  default_branch?: string | undefined;
  default_domain?: string | null | undefined;
  timezone?: string | undefined;
  plan?: string | undefined;
  environments?: number | undefined;
  storage?: number | undefined;
  contract_options?: Record<string, string> | undefined;
}

export async function updateProject(
  { db, spending }: Pick<Platform, 'db' | 'spending'>,
  caller: Caller,
  id: string,
  change: ProjectChange,
): Promise<{ project: Project; activities: Activity[] }> {
  refuseMistakes(change, await domainsOfProduction(db, id));
  const { default_branch, environments, storage, attributes, default_domain, contract_options, ...columns } = change;
  return db.transaction().execute(async (tx) => {
    const before = await projectById(tx, id);
    if (!before) throw new Problem('not-found', 'No such project.');
    if (before.status === 'deleting') throw new Problem('conflict', 'The project is being deleted; it can no longer be changed.');
    const terms = termsOf(before);
    const wanted = termsWith(terms, change);
    await refuseSpending(tx, spending, caller, before.organization_id, { wanted, before: terms });
    if (default_branch !== undefined) await changeDefaultBranch(tx, before, default_branch);
    const isChosen = typeof default_domain === 'string' && default_domain !== before.default_domain;
    const chosen = isChosen ? [await chooseDefaultDomain(tx, caller, id, default_domain)] : [];
    const project = await changeProject(tx, id, {
      ...columns,
      ...(attributes && { attributes: JSON.stringify(attributes) }),
      ...(contract_options && { contract_options: JSON.stringify(wanted.options) }),
      ...(environments !== undefined && { environments_max: environments }),
      ...(storage !== undefined && { storage_mib: storage }),
    });
    return { project, activities: [...chosen, ...(await startFollowing(tx, caller, before, project))] };
  });
}

const termsOf = ({ plan, storage_mib, contract_options }: Project): ContractTerms => ({
  plan,
  storage: storage_mib,
  options: contract_options as Record<string, string>,
});

export const termsWith = (
  { plan, storage, options }: ContractTerms,
  change: Pick<ProjectChange, 'plan' | 'storage' | 'contract_options'>,
): ContractTerms => ({
  plan: change.plan ?? plan,
  storage: change.storage ?? storage,
  options: { ...options, ...change.contract_options },
});

/** Starts the activities that a change needs: a new title is recorded in the history, a new default branch is told to Git. */
async function startFollowing(
  tx: Tx,
  caller: Caller,
  before: Project,
  { id: project_id, title, default_branch }: Project,
): Promise<Activity[]> {
  const actor = actorOf(caller.user);
  const started: Activity[] = [];
  if (title !== before.title) {
    const renamed = await startActivity(tx, renameProjectActivity, {
      project_id,
      input: { title },
      parameters: { user: actor.id, new_title: title },
      payload: { user: actor, new_title: title },
      sentence: sentence`${person(actor)} changed the title of the project to ${strong(title)}`,
    });
    started.push(renamed);
  }
  if (default_branch !== before.default_branch) {
    const moved = await startActivity(tx, moveDefaultBranchActivity, {
      project_id,
      input: {},
      parameters: { user: actor.id, default_branch },
      payload: { user: actor, default_branch },
      sentence: sentence`${person(actor)} made ${strong(default_branch)} the default branch`,
    });
    started.push(moved);
  }
  return started;
}

const timezones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);

function refuseMistakes({ timezone, default_domain }: ProjectChange, domains: readonly string[]) {
  const fields: Record<string, string> = {};
  if (timezone !== undefined && !timezones.has(timezone)) fields['timezone'] = 'must be a time zone such as Europe/Amsterdam';
  const isDomain = default_domain === null ? domains.length === 0 : default_domain === undefined || domains.includes(default_domain);
  if (!isDomain)
    fields['default_domain'] =
      `must be a valid project domain: ${domains.length > 0 ? domains.join(', ') : 'this project has none, so it can only be null'}`;
  const mistakes = Object.entries(fields);
  if (mistakes.length > 0)
    throw new Problem('invalid-request', mistakes.map(([field, message]) => `${field} ${message}.`).join(' '), { fields });
}
