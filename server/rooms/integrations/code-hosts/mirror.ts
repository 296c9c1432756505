/** What is known of the code host of an integration: which repository it is, which pull requests are open there, and which of them somebody approved. */
import { sql, type Selectable } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { CodeHost, OpenPullRequests, PullRequest, Repository } from '../../../drivers/code-hosts/code-host.ts';
import type { Approvals } from '../../../drivers/code-hosts/plan-mirror.ts';
import type { Database } from '../../../database.ts';
import { oneOf } from '../../../kernel/stored-json.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Project } from '../../projects/public.ts';
import type { Integration } from '../integration.ts';

/** A code host that the code of a project comes from. */
export interface Mirror {
  integration: Integration;
  project: Project;
  host: CodeHost;
  row: MirrorRow;
}

export type MirrorRow = Selectable<Database['code_mirrors']>;

export const mirrorRow = (db: Db | Tx, integrationId: string): Promise<MirrorRow | undefined> =>
  db.selectFrom('code_mirrors').selectAll().where('integration_id', '=', integrationId).executeTakeFirst();

export const rememberRepository = (tx: Tx, integrationId: string, { id, url, defaultBranch }: Repository) =>
  tx
    .updateTable('code_mirrors')
    .set({ repository_id: id, repository_url: url, default_branch: defaultBranch, is_replaced: false })
    .where('integration_id', '=', integrationId)
    .execute();

/** Which repository the name stands for is learned anew: somebody gave another one. What was open in the former one says nothing of this one. */
export async function forgetRepository(tx: Tx, integrationId: string): Promise<void> {
  await tx
    .updateTable('code_mirrors')
    .set({ repository_id: null, repository_url: null, default_branch: null, is_replaced: false })
    .where('integration_id', '=', integrationId)
    .execute();
  await tx.deleteFrom('pull_requests').where('integration_id', '=', integrationId).execute();
}

export const markReplaced = (db: Db, integrationId: string) =>
  db.updateTable('code_mirrors').set({ is_replaced: true }).where('integration_id', '=', integrationId).execute();

/** Which repository of the host is meant, once it was verified. */
export const repositoryIdOf = async (db: Db | Tx, integrationId: string): Promise<string | undefined> =>
  (await mirrorRow(db, integrationId))?.repository_id ?? undefined;

const Details = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  state: oneOf('open', 'merged', 'closed'),
  isDraft: Type.Boolean(),
  isFromFork: Type.Boolean(),
  sourceBranch: Type.String(),
  targetBranch: Type.String(),
  commit: Type.String(),
  url: Type.String(),
  source: Type.Object({ repository: Type.Optional(Type.String()), head: Type.String(), merge: Type.Optional(Type.String()) }),
});

export interface StoredPullRequest extends Omit<Selectable<Database['pull_requests']>, 'details'> {
  details: PullRequest;
}

/** Those of the integration, or the one of that number. */
export async function pullRequestsOf(db: Db | Tx, integrationId: string, number?: number): Promise<StoredPullRequest[]> {
  const { rows } = await sql<Selectable<Database['pull_requests']>>`
    select * from pull_requests where integration_id = ${integrationId}
    ${number === undefined ? sql`` : sql`and number = ${number}`} order by number`.execute(db);
  return rows.map((row) => ({ ...row, details: Value.Parse(Details, row.details) }));
}

export const approvalsIn = (stored: readonly StoredPullRequest[]): Approvals =>
  new Map(stored.flatMap(({ number, approved_commit }) => (approved_commit === null ? [] : [[number, approved_commit] as const])));

/** An approval stays with its commit; once the pull request is no longer open, it is gone. */
export async function rememberPullRequest(tx: Tx, integrationId: string, pullRequest: PullRequest): Promise<void> {
  const details = JSON.stringify(pullRequest);
  if (pullRequest.state === 'open')
    await sql`insert into pull_requests (integration_id, number, details) values (${integrationId}, ${pullRequest.number}, ${details}::jsonb)
      on conflict (integration_id, number) do update set details = excluded.details`.execute(tx);
  else await forgetPullRequest(tx, integrationId, pullRequest.number);
}

export const forgetPullRequest = (tx: Tx, integrationId: string, number: number) =>
  tx.deleteFrom('pull_requests').where('integration_id', '=', integrationId).where('number', '=', number).execute();

/** What is not among them is not open any more, unless the list was cut short: then it is open until the host tells otherwise. */
export async function rememberPullRequests(tx: Tx, integrationId: string, { open, isWhole }: OpenPullRequests): Promise<void> {
  const numbers = open.map(({ number }) => number);
  if (isWhole)
    await sql`delete from pull_requests where integration_id = ${integrationId} and not number = any(${numbers}::integer[])`.execute(tx);
  for (const each of open) await rememberPullRequest(tx, integrationId, each);
}

export const rememberRevision = (tx: Tx, integrationId: string, number: number, revision: string) =>
  tx.updateTable('pull_requests').set({ revision }).where('integration_id', '=', integrationId).where('number', '=', number).execute();

/** When the host is looked at next, unless it calls before. */
export const lookAgainIn = (tx: Db | Tx, integrationId: string, seconds: number) =>
  sql`update code_mirrors set sync_at = clock_timestamp() + make_interval(secs => ${seconds}) where integration_id = ${integrationId}`.execute(
    tx,
  );

/** Nobody asks the host before; what it has told until then is looked at then. */
export const leaveAloneUntil = (db: Db, integrationId: string, until: Date) =>
  sql`update code_mirrors set quiet_until = ${until.toISOString()}, sync_at = ${until.toISOString()} where integration_id = ${integrationId}`.execute(
    db,
  );

/** Whether the host is to be left alone now. If so, it is looked at as soon as that is over. */
export async function isLeftAlone(tx: Tx, integrationId: string): Promise<boolean> {
  const { rows } = await sql`update code_mirrors set sync_at = quiet_until
    where integration_id = ${integrationId} and quiet_until > clock_timestamp() returning integration_id`.execute(tx);
  return rows.length > 0;
}

/** Another credential, or another host, has limits of its own. */
export const askAgain = (tx: Tx, integrationId: string) =>
  tx.updateTable('code_mirrors').set({ quiet_until: null }).where('integration_id', '=', integrationId).execute();

/** Between two looks at a host, unless it calls. */
export const lookPeriodSeconds = 300;
const looksApartSeconds = 60;

/** Has the host looked at as soon as it is anybody's turn, unless that was done a moment ago. */
export const lookSoon = (db: Db, integrationId: string) =>
  sql`update code_mirrors set sync_at = clock_timestamp()
    where integration_id = ${integrationId}
      and sync_at between clock_timestamp() and clock_timestamp() + make_interval(secs => ${lookPeriodSeconds - looksApartSeconds})`.execute(
    db,
  );
