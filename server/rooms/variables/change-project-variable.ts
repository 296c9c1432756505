/** Changes to the variables of a project, each with its activity in one transaction. */
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { changed } from '../activities/public.ts';
import type { Project } from '../projects/public.ts';
import { tellProject } from './activities.ts';
import { refuseTooMuch } from './limits.ts';
import type { ProjectVariable } from './project-variable.ts';
import {
  deleteProjectVariable,
  insertProjectVariable,
  projectUsage,
  projectVariables,
  takeVariables,
  updateProjectVariable,
} from './queries.ts';
import { amendedColumns, columnsOf, shown, type Change } from './variable.ts';

type Hands = Pick<Platform, 'db' | 'secrets'>;

export const addProjectVariable = (
  { db, secrets }: Hands,
  caller: Caller,
  { id, organization_id }: Project,
  given: Change & { name: string; value: string },
) =>
  db.transaction().execute(async (tx) => {
    const columns = columnsOf(secrets, id, given);
    await takeVariables(tx, id);
    const row = await insertProjectVariable(tx, columns);
    refuseTooMuch('project', await projectUsage(tx, id));
    const activity = await tellProject(tx, 'added', caller, row);
    return changed(shown({ ...row, organization_id }), organization_id, activity);
  });

export const changeProjectVariable = ({ db, secrets }: Hands, caller: Caller, target: ProjectVariable, change: Change) =>
  db.transaction().execute(async (tx) => {
    const { project_id, organization_id, name } = target;
    await takeVariables(tx, project_id);
    const [stored] = await projectVariables(tx, project_id, name);
    if (!stored) throw gone();
    const row = await updateProjectVariable(tx, name, amendedColumns(secrets, stored, change));
    refuseTooMuch('project', await projectUsage(tx, project_id));
    const activity = await tellProject(tx, 'modified', caller, row);
    return changed(shown({ ...row, organization_id }), organization_id, activity);
  });

export const removeProjectVariable = ({ db }: Hands, caller: Caller, target: ProjectVariable) =>
  db.transaction().execute(async (tx) => {
    const { project_id, organization_id, name } = target;
    await takeVariables(tx, project_id);
    if (!(await deleteProjectVariable(tx, project_id, name))) throw gone();
    return changed(target, organization_id, await tellProject(tx, 'deleted', caller, target));
  });

/** Somebody else deleted the variable, or renamed it, a moment before. */
const gone = () => new Problem('not-found', 'No such project variable.');
