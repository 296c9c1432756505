import { sql } from 'kysely';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Caller, Platform } from '../../../platform.ts';
import { integrationsOf } from '../queries.ts';
import { startFetch } from './fetch-activities.ts';
import { noteNews, pullRequestNews } from './news.ts';
import { shownPullRequests, type ShownPullRequest } from './pull-request.ts';

/**
 * Lets the code of a fork run, as it is at that commit: whoever approves has read it. What its author pushes later has to be approved again, and so has what they
 * pushed a moment before.
 */
export async function approvePullRequest(
  { db }: Platform,
  { project_id, integration_id, number }: ShownPullRequest,
  commit: string,
  caller: Caller,
): Promise<ShownPullRequest> {
  const [owner] = await integrationsOf(db, project_id, integration_id);
  if (!owner) throw gone();
  await db.transaction().execute(async (tx) => {
    if (!(await markApproved(tx, integration_id, number, commit, caller.id)))
      throw new Problem('conflict', `Pull request ${number} is not at ${commit} any more; look at what it is now, and approve that.`);
    await noteNews(tx, integration_id, [pullRequestNews(number)]);
    await startFetch(tx, owner);
  });
  const [approved] = await shownPullRequests(db, owner, number);
  if (!approved) throw gone();
  return approved;
}

/**
 * The whole id is kept, also where the host tells only how it begins: commits that begin like another one are easily made, and one that was pushed a moment before must not be
 * built in its place. Of a fork that was deleted nothing can be approved.
 */
async function markApproved(tx: Tx, integrationId: string, number: number, commit: string, userId: string): Promise<boolean> {
  const { rows } = await sql`update pull_requests
    set approved_commit = ${commit}, approved_by = ${userId}, approved_at = clock_timestamp()
    where integration_id = ${integrationId} and number = ${number}
      and details ->> 'commit' <> '' and starts_with(${commit}, details ->> 'commit')
    returning number`.execute(tx);
  return rows.length > 0;
}

const gone = () => new Problem('not-found', 'No such pull request.');
