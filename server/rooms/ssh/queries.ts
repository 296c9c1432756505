/** SSH keys as they are found, and the sessions that are open in any process of the installation. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';

/** Keys are kept, and so looked for, as their line without the comment. */
export const sshKeyByLine = (db: Db, line: string) =>
  db.selectFrom('ssh_keys').select('key_id').where('value', '=', line).executeTakeFirst();

export interface NewSshSession {
  id: string;
  user_id: string;
  project_id: string;
  environment_id: string;
  runs: string;
  instance: number;
  address: string;
  via: string;
}

/** A session that was not seen for longer than this belonged to a process that is gone. */
const seenSecondsMax = 30;

const isOpen = sql<boolean>`ssh_sessions.seen_at > clock_timestamp() - make_interval(secs => ${seenSecondsMax})`;

export const forgetLostSessions = (db: Db) => sql`delete from ssh_sessions where not ${isOpen}`.execute(db);

export interface SshSessionLimits {
  perUserMax: number;
  perInstanceMax: number;
  perOrganizationMax: number;
}

/** The party that has as many sessions as it may have. */
export type Full = 'user' | 'instance' | 'organization';

/** Answers with the party that has too many sessions already, if one has; then nothing is inserted. */
export async function insertSession(
  db: Db,
  session: NewSshSession,
  { perUserMax, perInstanceMax, perOrganizationMax }: SshSessionLimits,
): Promise<Full | undefined> {
  const { id, user_id, project_id, environment_id, runs, instance, address, via } = session;
  // Sessions are inserted one at a time: many that come at once would not see each other, and too many would be let in.
  const inserting = db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('ssh sessions', 0))`.execute(tx);
    return sql<Record<`of_${Full}`, boolean>>`
    with open as (select
      (select count(*) from ssh_sessions join parties using (project_id)
        where party = (select party from parties where project_id = ${project_id}) and ${isOpen}) >= ${perOrganizationMax} as of_organization,
      (select count(*) from ssh_sessions where user_id = ${user_id} and ${isOpen}) >= ${perUserMax} as of_user,
      (select count(*) from ssh_sessions where project_id = ${project_id} and environment_id = ${environment_id} and runs = ${runs}
        and instance = ${instance} and ${isOpen}) >= ${perInstanceMax} as of_instance),
    added as (insert into ssh_sessions (id, user_id, project_id, environment_id, runs, instance, address, via)
      select ${id}, ${user_id}::uuid, ${project_id}, ${environment_id}, ${runs}, ${instance}::integer, ${address}, ${via} from open
      where not of_user and not of_instance and not of_organization)
    select of_user, of_instance, of_organization from open`.execute(tx);
  });
  const { rows } = await inserting;
  return (['user', 'instance', 'organization'] as const).find((of) => rows[0]?.[`of_${of}`]);
}

/** Answers with those that an operator has ended. */
export async function noteSeen(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ id: string; is_ending: boolean }>`
    update ssh_sessions set seen_at = clock_timestamp() where id = any(${[...ids]}) returning id, is_ending`.execute(db);
  return new Set(rows.filter(({ is_ending }) => is_ending).map(({ id }) => id));
}

/** The process that has the session hears of it when it next looks. */
export const endSession = (db: Db, id: string) => sql`update ssh_sessions set is_ending = true where id = ${id}`.execute(db);

export const deleteSession = (db: Db, id: string) => db.deleteFrom('ssh_sessions').where('id', '=', id).execute();

export interface SshSession extends NewSshSession {
  email: string;
  is_ending: boolean;
  started_at: string;
}

/** The open sessions, oldest first. */
export const openSessions = async (db: Db, limit: number): Promise<SshSession[]> => {
  const { rows } = await sql<SshSession>`
    select ssh_sessions.*, users.email from ssh_sessions join users on users.id = ssh_sessions.user_id
    where ${isOpen} order by started_at, ssh_sessions.id limit ${limit}`.execute(db);
  return rows;
};
