/**
 * What follows from a change of variables. The change itself is made with the request; the activity tells of it, and is where running applications
 * get it. No value is ever in it, not even of a plain variable: that may become sensitive later, and activities stay.
 */
import { Type } from 'typebox';
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import type { Caller } from '../../platform.ts';
import { actorOf, environment as named, person, sentence, variable as mention } from '../activities/room.ts';
import { deployBranch } from '../environments/room.ts';
import type { Stored } from './variable.ts';

const Input = Type.Object({ name: Type.String() });

const inEnvironment = (type: string) =>
  activity({
    type,
    queue: 'default',
    usesMachine: true,
    input: Input,
    run: async (work, platform) => {
      const [id = ''] = work.activity.environments;
      await deployBranch(work, platform, id);
    },
  });

const inProject = (type: string) =>
  activity({
    type,
    queue: 'default',
    input: Input,
    run: async ({ input, log }) => log(`Nothing is redeployed: ${input.name} takes effect in each environment with its next deployment.`),
  });

export const addToEnvironment = inEnvironment('environment.variable.create');
export const modifyInEnvironment = inEnvironment('environment.variable.update');
export const deleteFromEnvironment = inEnvironment('environment.variable.delete');
export const addToProject = inProject('project.variable.create');
export const modifyInProject = inProject('project.variable.update');
export const deleteFromProject = inProject('project.variable.delete');

export type Verb = 'added' | 'modified' | 'deleted';

/** An environment, as far as an activity speaks of it. */
export interface Place {
  id: string;
  title: string;
  type: EnvironmentType;
}

type Told = Omit<Stored, 'value' | 'value_sealed'>;

const environmentActivity = { added: addToEnvironment, modified: modifyInEnvironment, deleted: deleteFromEnvironment };
const projectActivity = { added: addToProject, modified: modifyInProject, deleted: deleteFromProject };

export function tellEnvironment(tx: Tx, verb: Verb, { user }: Caller, place: Place, variable: Told): Promise<Activity> {
  const { id, title, type } = place;
  const actor = actorOf(user);
  const [who, what, where] = [person(actor), mention(variable.name), named(place)];
  const sentences = {
    added: sentence`${who} added variable ${what} to ${where}`,
    modified: sentence`${who} modified variable ${what} on ${where}`,
    deleted: sentence`${who} deleted variable ${what} from ${where}`,
  };
  return startActivity(tx, environmentActivity[verb], {
    project_id: variable.project_id,
    environments: [{ id, type }],
    input: { name: variable.name },
    parameters: { user: actor.id, environment: id, variable: variable.name },
    payload: { user: actor, environment: { id, name: id, title, type, project: variable.project_id }, variable: shortly(variable) },
    sentence: sentences[verb],
  });
}

export function tellProject(tx: Tx, verb: Verb, { user }: Caller, variable: Told): Promise<Activity> {
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
    payload: { user: actor, variable: shortly(variable) },
    sentence: sentences[verb],
  });
}

const shortly = ({ name, is_json, is_sensitive, visible_build, visible_runtime, application_scope }: Told) => ({
  id: name,
  name,
  is_json,
  is_sensitive,
  visible_build,
  visible_runtime,
  application_scope,
});
