/** A new project: its row, its maker's access and the activity that makes the rest of it, all or none. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { orProblem } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { refuseSpending } from '../../spending.ts';
import { grantMaker } from '../access/public.ts';
import { actorOf, person, sentence, strong } from '../activities/public.ts';
import { refuseFurtherProject } from '../deployments/public.ts';
import { isBranchName } from '../environments/public.ts';
import type { Organization } from '../organizations/public.ts';
import { addressMistake, insertProject, type Project } from '../projects/public.ts';
import { createProjectActivity } from './activities.ts';
import { freshClientKey } from './client-key.ts';
import { environmentsDefault, planOffered, storageMibDefault } from './options.ts';

export interface NewProject {
  region: string;
  title?: string | null | undefined;
  type?: string | undefined;
  plan?: string | null | undefined;
  default_branch?: string | null | undefined;
  environments?: number | null | undefined;
  storage?: number | null | undefined;
  organization_id?: string | undefined;
  options_url?: string | null | undefined;
  initialize?: Initialize | undefined;
}

export interface Initialize {
  profile?: string | undefined;
  repository?: string | undefined;
  config?: string | null | undefined;
}

/** The names that a request has for fields, where they differ from ours. */
export type FieldNames = Partial<Record<Field, string>>;

type Field = keyof NewProject | 'initialize.repository' | 'initialize.config';

export async function createProject(
  { db, config, secrets, spending }: Platform,
  caller: Caller,
  organization: Organization,
  wanted: NewProject,
  names: FieldNames = {},
): Promise<{ project: Project; activity: Activity }> {
  refuseMistakes(wanted, organization, config.region.id, names);
  const id = shortId();
  const actor = actorOf(caller.user);
  const { initialize } = wanted;
  const title = wanted.title ?? 'Untitled project';
  const terms = { plan: wanted.plan ?? planOffered, storage: wanted.storage ?? storageMibDefault, options: {} };
  const making = db.transaction().execute(async (tx) => {
    await refuseFurtherProject(tx, organization.id);
    await refuseSpending(tx, spending, caller, organization.id, { wanted: terms, before: undefined });
    const project = await insertProject(tx, {
      id,
      organization_id: organization.id,
      region: config.region.id,
      title,
      type: wanted.type ?? 'grid',
      plan: terms.plan,
      default_branch: wanted.default_branch ?? 'main',
      environments_max: wanted.environments ?? environmentsDefault,
      storage_mib: terms.storage,
      owner_id: caller.id,
      timezone: config.region.timezone,
      settings: JSON.stringify(initialize ? { initialize } : {}),
      ...freshClientKey(id, secrets),
    });
    await grantMaker(tx, project, caller.id);
    const activity = await startActivity(tx, createProjectActivity, {
      project_id: id,
      input: { user_id: caller.id, ...(initialize && { initialize: toStore(initialize) }) },
      parameters: { user: actor.id },
      payload: { user: actor, outcome: { id, title } },
      sentence: sentence`${person(actor)} created a new project ${strong(title)}`,
    });
    return { project, activity };
  });
  return orProblem(making, { projects_organization_id_fkey: () => new Problem('not-found', 'No such organization.') });
}

const toStore = ({ profile, repository, config }: Initialize) => ({
  ...(profile !== undefined && { profile }),
  ...(repository !== undefined && { repository }),
  ...(typeof config === 'string' && { config }),
});

/** Refuses the mistakes that no schema can find, all in one answer. */
function refuseMistakes(wanted: NewProject, organization: Organization, region: string, names: FieldNames) {
  const { repository, config } = wanted.initialize ?? {};
  const mistakes: Partial<Record<Field, string | false | undefined>> = {
    region: wanted.region !== region && `must be ${region}, the region of this installation`,
    default_branch:
      typeof wanted.default_branch === 'string' &&
      !isBranchName(wanted.default_branch) &&
      'must be a name that Git accepts for a branch, such as main',
    organization_id:
      wanted.organization_id !== undefined && wanted.organization_id !== organization.id && 'must be the organization that the path names',
    type: wanted.type === 'dedicated' && 'must be grid; there are no dedicated machines here',
    options_url:
      Boolean(wanted.options_url) && 'is not read here; leave it out, and name a repository in options_custom.initialize instead',
    'initialize.repository': repository !== undefined && addressMistake(repository),
    'initialize.config': typeof config === 'string' && config !== '' && addressMistake(config),
  };
  const fields = Object.entries(mistakes).flatMap(([field, message]) =>
    message ? [[names[field as Field] ?? field, message] as const] : [],
  );
  if (fields.length > 0) {
    throw new Problem('invalid-request', fields.map(([field, message]) => `${field} ${message}.`).join(' '), {
      fields: Object.fromEntries(fields),
    });
  }
}
