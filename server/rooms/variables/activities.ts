/**
 * What follows from a change of a project's variables. The change itself is made with the request; the activity tells of it.
 * No value is ever in it, not even of a plain variable: that may become sensitive later, and activities stay.
 */
import { Type } from 'typebox';
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller } from '../../platform.ts';
import { actorOf, person, sentence, variable as mention } from '../activities/public.ts';
import type { Stored } from './variable.ts';

/** What an activity is told: which variable, never its value. */
export const VariableInput = Type.Object({ name: Type.String() });

const inProject = (type: string) =>
  activity({
    type,
    queue: 'default',
    input: VariableInput,
    run: async ({ input, log }) => log(`Nothing is redeployed: ${input.name} takes effect in each environment with its next deployment.`),
  });

export const addToProject = inProject('project.variable.create');
export const modifyInProject = inProject('project.variable.update');
export const deleteFromProject = inProject('project.variable.delete');

export type Verb = 'added' | 'modified' | 'deleted';

/** A variable, as far as activities speak of it. */
export type ToldVariable = Omit<Stored, 'value' | 'value_sealed'>;

const projectActivity = { added: addToProject, modified: modifyInProject, deleted: deleteFromProject };

export function tellProject(tx: Tx, verb: Verb, { user }: Caller, variable: ToldVariable): Promise<Activity> {
  const actor = actorOf(user);
  const [who, what] = [person(actor), mention(variable.name)];
  const sentences = {
    added: sentence`${who} added project variable ${what}`,
    modified: sentence`${who} modified project variable ${what}`,
    deleted: sentence`${who} deleted project variable ${what}`,
  };
  return startActivity(tx, projectActivity[verb], {
    project_id: variable.project_id,
    input: { name: variable.name },
    parameters: { user: actor.id, variable: variable.name },
    payload: { user: actor, variable: variableSummary(variable) },
    sentence: sentences[verb],
  });
}

export const variableSummary = ({ name, is_json, is_sensitive, visible_build, visible_runtime, application_scope }: ToldVariable) => ({
  id: name,
  name,
  is_json,
  is_sensitive,
  visible_build,
  visible_runtime,
  application_scope,
});
