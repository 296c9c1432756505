/** A task's container goes with its activity; what is left of one whose activity could not see to that is removed here. */
import { sql } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import { activityOfTask } from '../deployments/public.ts';

export const removeEndedTasks: Reconciler = {
  name: 'remove what ended tasks left',
  everySeconds: 300,
  usesMachine: true,
  run: async ({ db, machine, log }, signal) => {
    if (!(await hasRunTasks(db))) return;
    const { runtime } = await machine();
    for (const { name } of await runtime.list()) {
      const activity = activityOfTask(name);
      if (activity === undefined || signal.aborted || (await isOpen(db, activity))) continue;
      log.warn({ container: name }, 'the container of a task that has ended is removed');
      await runtime.remove(name);
    }
    await sql`delete from running_tasks using activities
      where activities.id = activity_id and ${activitiesThat('beOver')}`.execute(db);
  },
};

const hasRunTasks = async (db: Db): Promise<boolean> => {
  const { rows } = await sql`select from activities where type = 'environment.task' limit 1`.execute(db);
  return rows.length > 0;
};

const isOpen = async (db: Db, activityId: string): Promise<boolean> => {
  const { rows } = await sql`select from activities where id = ${activityId} and not ${activitiesThat('beOver')}`.execute(db);
  return rows.length > 0;
};
