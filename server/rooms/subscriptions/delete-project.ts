/** The end of a project: recorded at once, carried out by an activity. Asking again while that is under way changes nothing; asking again after it failed tries again. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, person, sentence, strong } from '../activities/public.ts';
import { lockProject } from '../projects/public.ts';
import { deleteProjectActivity } from './activities.ts';
import { beginDeletion, openActivityOf } from './queries.ts';

export const deleteProject = ({ db }: Pick<Platform, 'db'>, caller: Caller, id: string): Promise<Activity> =>
  db.transaction().execute(async (tx) => {
    const { title } = await lockProject(tx, id);
    const underWay = await openActivityOf(tx, id, deleteProjectActivity.type);
    if (underWay) return underWay;
    await beginDeletion(tx, id);
    const actor = actorOf(caller.user);
    return startActivity(tx, deleteProjectActivity, {
      project_id: id,
      isOwed: true,
      input: {},
      parameters: { user: actor.id },
      payload: { user: actor, project: { id, title } },
      sentence: sentence`${person(actor)} deleted the project ${strong(title)}`,
    });
  });
