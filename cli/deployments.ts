/** What was deployed in an environment, and going back to it, for the operator at the machine. The platform carries it out, as for anybody else. */
import { readConfig } from '../server/config.ts';
import { activitiesThat } from '../server/kernel/activity-life-cycle.ts';
import { readRows } from '../server/kernel/activity-log.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { actorById } from '../server/rooms/activities/public.ts';
import { earlierDeployments } from '../server/rooms/deployments/public.ts';
import { environmentById } from '../server/rooms/environments/public.ts';
import { startVerbAs } from '../server/rooms/environments/work.ts';
import { withDatabase } from './database.ts';

const lookMilliseconds = 300;
const waitSecondsMax = 15;

export const listDeployments = async ([project = '', environment = '']: string[]) => {
  refuseNothing(project, environment);
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    await known(db, config.domain, project, environment);
    for (const { number, commit, created_at, is_current, can_rollback, text } of await earlierDeployments(db, project, environment)) {
      const mark = is_current ? 'current' : can_rollback ? 'kept' : 'gone';
      console.log([String(number), created_at.slice(0, 19), commit.slice(0, 7), mark, text ?? ''].join('  ').trimEnd());
    }
  });
};

export const rollBack = async ([project = '', environment = '', deployment]: string[]) => {
  refuseNothing(project, environment);
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    await known(db, config.domain, project, environment);
    const { activity } = await db
      .transaction()
      .execute(async (tx) =>
        startVerbAs(tx, config.domain, { project_id: project, id: environment }, 'rollBack', { deployment }, await actorById(tx, null)),
      );
    await follow(db, activity.id);
  });
};

function refuseNothing(project: string, environment: string) {
  if (project === '' || environment === '')
    throw new Problem('invalid-request', 'Give the id of a project and the name of one of its environments.');
}

async function known(db: Db, domain: string, project: string, environment: string) {
  const found = await environmentById(db, domain, project, environment);
  if (!found) throw new Problem('not-found', `There is no environment ${environment} in a project ${project}.`);
}

/** Prints the log of an activity until it ends. One that no runner begins is left to the platform. */
async function follow(db: Db, id: string) {
  const began = performance.now();
  for (let next = 0; ;) {
    const { is_over, waits, result } = await db
      .selectFrom('activities')
      .select([activitiesThat('beOver').as('is_over'), activitiesThat('wait').as('waits'), 'result'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const rows = await readRows(db, id, next);
    for (const { message } of rows) process.stdout.write(message);
    next += rows.length;
    if (rows.length > 0) continue;
    if (is_over) {
      if (result !== 'success') throw new Problem('conflict', 'The environment is as it was.');
      return;
    }
    if (waits && performance.now() - began > waitSecondsMax * 1000)
      return console.log('It waits for its turn, and is carried out when the platform runs and nothing else happens to the environment.');
    await new Promise((resolve) => setTimeout(resolve, lookMilliseconds));
  }
}
