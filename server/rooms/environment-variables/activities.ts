/**
 * What follows from a change of an environment's variables. The change itself is made with the request; the activity tells of it, and is where
 * running applications get it. As with a project's, no value is ever in it.
 */
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import type { Caller } from '../../platform.ts';
import { actorOf, environment as named, person, sentence, variable as mention } from '../activities/public.ts';
import { deployBranch } from '../environments/work.ts';
import { VariableInput, variableSummary, type ToldVariable, type Verb } from '../variables/public.ts';

const inEnvironment = (type: string) =>
  activity({
    type,
    queue: 'default',
    usesMachine: true,
    input: VariableInput,
    run: async (work, platform) => {
      const [id = ''] = work.activity.environments;
      await deployBranch(work, platform, id);
    },
  });

export const addToEnvironment = inEnvironment('environment.variable.create');
export const modifyInEnvironment = inEnvironment('environment.variable.update');
export const deleteFromEnvironment = inEnvironment('environment.variable.delete');

const environmentActivity = { added: addToEnvironment, modified: modifyInEnvironment, deleted: deleteFromEnvironment };

/** An environment, as far as an activity speaks of it. */
export interface NamedEnvironment {
  id: string;
  title: string;
  type: EnvironmentType;
}

export function tellEnvironment(
  tx: Tx,
  verb: Verb,
  { user }: Caller,
  environment: NamedEnvironment,
  variable: ToldVariable,
): Promise<Activity> {
  const { id, title, type } = environment;
  const actor = actorOf(user);
  const [who, what, where] = [person(actor), mention(variable.name), named(environment)];
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
    payload: { user: actor, environment: { id, name: id, title, type, project: variable.project_id }, variable: variableSummary(variable) },
    sentence: sentences[verb],
  });
}
