/** How many activities may wait on behalf of one party. Whoever starts more than are carried out is told so, in place of joining a line that has no end. */
import { sql } from 'kysely';
import { activitiesThat } from './activity-life-cycle.ts';
import { Problem } from './problem.ts';
import type { Db, Tx } from './sql.ts';

/**
 * Throws a Problem unless `count` more may wait. Nobody is kept from counting at the same moment, so a party may come to have a few more: the number is there for
 * those who have thousands.
 */
export async function refuseFurtherActivities(db: Db | Tx, projectId: string, count = 1): Promise<void> {
  const { rows } = await sql<{ party_title: string; activities_most: number; waiting: number }>`
    select own.party_title, own.activities_most, count(activities.id)::integer as waiting
    from parties as own join parties as theirs using (party)
    left join activities on activities.project_id = theirs.project_id and ${activitiesThat('wait')}
    where own.project_id = ${projectId} and own.activities_most is not null
    group by own.party_title, own.activities_most`.execute(db);
  const [line] = rows;
  if (!line || line.waiting + count <= line.activities_most) return;
  throw new Problem(
    'too-many-requests',
    `${line.party_title} has ${line.waiting} activities waiting, and no more than ${line.activities_most} may wait at once. ` +
      'Try again when some of them have ended, cancel those that nobody needs, or ask the operator for more.',
  );
}
