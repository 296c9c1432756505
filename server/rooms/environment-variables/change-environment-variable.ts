/** Changes to the variables of an environment, each with its activity in one transaction. An inherited one that is changed becomes the environment's own. */
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { changed } from '../activities/public.ts';
import type { Environment } from '../environments/public.ts';
import { amendedColumns, columnsOf, refuseTooMuch, shown, takeVariables, type Change } from '../variables/public.ts';
import { tellEnvironment, type NamedEnvironment } from './activities.ts';
import { maySeeOrigin, type EnvironmentVariable } from './environment-variable.ts';
import {
  deleteEnvironmentVariable,
  environmentUsage,
  environmentVariables,
  insertEnvironmentVariable,
  updateEnvironmentVariable,
  type StoredEnvironmentVariable,
} from './queries.ts';

type Hands = Pick<Platform, 'db' | 'secrets'>;

export interface EnvironmentChange extends Change {
  is_enabled?: boolean;
  is_inheritable?: boolean;
}

export const addEnvironmentVariable = (
  { db, secrets }: Hands,
  caller: Caller,
  { id, project_id, organization_id, title, type }: Environment,
  given: EnvironmentChange & { name: string; value: string },
) =>
  db.transaction().execute(async (tx) => {
    const columns = columnsOf(secrets, project_id, given);
    await takeVariables(tx, project_id);
    const row = await insertEnvironmentVariable(tx, { ...columns, environment_id: id });
    refuseTooMuch('environment', await environmentUsage(tx, project_id, id));
    const activity = await tellEnvironment(tx, 'added', caller, { id, title, type }, row);
    const about = {
      project: project_id,
      environment: id,
      environment_title: title,
      environment_type: type,
      origin_type: type,
      organization_id,
    };
    return changed(shown({ ...row, ...about, inherited: false, inherited_from: null }), organization_id, activity);
  });

export const changeEnvironmentVariable = ({ db, secrets }: Hands, caller: Caller, target: EnvironmentVariable, change: EnvironmentChange) =>
  db.transaction().execute(async (tx) => {
    const { project, environment, organization_id, name } = target;
    await takeVariables(tx, project);
    const [stored] = await environmentVariables(tx, project, environment, name);
    if (!stored) throw gone();
    if (change.value === undefined && !maySeeOrigin(caller, stored)) {
      throw invalidField('value', 'is required: the variable is inherited from an environment that you may not see');
    }
    const { is_enabled = stored.is_enabled, is_inheritable = stored.is_inheritable, ...common } = change;
    const columns = { ...amendedColumns(secrets, stored, common), environment_id: environment, is_enabled, is_inheritable };
    const row = stored.inherited ? await override(tx, stored, columns) : await updateEnvironmentVariable(tx, name, columns);
    refuseTooMuch('environment', await environmentUsage(tx, project, environment));
    const activity = await tellEnvironment(tx, 'modified', caller, environmentOf(target), row);
    const own = { inherited: false, inherited_from: null, origin_type: stored.environment_type };
    return changed(shown({ ...stored, ...row, ...own }), organization_id, activity);
  });

function override(tx: Tx, inherited: StoredEnvironmentVariable, columns: Parameters<typeof insertEnvironmentVariable>[1]) {
  if (columns.name !== inherited.name) {
    throw invalidField('name', 'cannot be changed here: the variable is inherited; rename it in the environment that it comes from');
  }
  return insertEnvironmentVariable(tx, columns);
}

export const removeEnvironmentVariable = ({ db }: Hands, caller: Caller, target: EnvironmentVariable) =>
  db.transaction().execute(async (tx) => {
    const { project, environment, organization_id, name } = target;
    await takeVariables(tx, project);
    if (!(await deleteEnvironmentVariable(tx, project, environment, name))) throw gone();
    return changed(target, organization_id, await tellEnvironment(tx, 'deleted', caller, environmentOf(target), target));
  });

const environmentOf = ({ environment, environment_title, environment_type }: EnvironmentVariable): NamedEnvironment => ({
  id: environment,
  title: environment_title,
  type: environment_type,
});

/** Somebody else deleted the variable, or renamed it, a moment before. */
const gone = () => new Problem('not-found', 'No such environment variable.');
