import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import { orConflict, type Db, type Tx } from '../../kernel/sql.ts';

export type ApiToken = Selectable<Database['api_tokens']> & { token?: string };
export type SshKey = Selectable<Database['ssh_keys']> & { uid: number };

export const userById = (db: Db | Tx, id: string) => db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();

export const userByEmail = (db: Db | Tx, email: string) =>
  db.selectFrom('users').selectAll().where('email', '=', email.toLowerCase()).executeTakeFirst();

export const userByUsername = (db: Db | Tx, username: string) =>
  db
    .selectFrom('users')
    .selectAll()
    .where(sql<string>`lower(username)`, '=', username.toLowerCase())
    .executeTakeFirst();

export const usersByAge = (db: Db | Tx, usersMax: number) =>
  db.selectFrom('users').selectAll().orderBy('created_at').orderBy('id').limit(usersMax).execute();

export const insertUser = (db: Db | Tx, user: Insertable<Database['users']>) =>
  refusingTaken(db.insertInto('users').values(user).returningAll().executeTakeFirstOrThrow());

export const changeUser = (db: Db | Tx, id: string, changes: Updateable<Database['users']>) =>
  refusingTaken(
    db
      .updateTable('users')
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),
  );

const refusingTaken = <T>(work: Promise<T>) =>
  orConflict(work, {
    users_email: 'This e-mail address belongs to another user; use a different one.',
    users_username: 'This username is taken; choose another.',
  });

export const apiTokensOf = (db: Db | Tx, userId: string) =>
  db.selectFrom('api_tokens').selectAll().where('user_id', '=', userId).orderBy('created_at').orderBy('id').execute();

export const apiTokenOf = (db: Db | Tx, userId: string, id: string): Promise<ApiToken | undefined> =>
  db.selectFrom('api_tokens').selectAll().where('user_id', '=', userId).where('id', '=', id).executeTakeFirst();

export const insertApiToken = (db: Db | Tx, token: Insertable<Database['api_tokens']>) =>
  orConflict(db.insertInto('api_tokens').values(token).returningAll().executeTakeFirstOrThrow(), {
    api_tokens_user_id_name_key: 'You already have an API token with this name; delete it first, or choose another name.',
    api_tokens_fingerprint_key: 'This API token exists already; choose another.',
  });

export const deleteApiToken = (db: Db | Tx, id: string) => db.deleteFrom('api_tokens').where('id', '=', id).execute();

const sshKeys = (db: Db | Tx) =>
  db.selectFrom('ssh_keys').innerJoin('users', 'users.id', 'ssh_keys.user_id').selectAll('ssh_keys').select('users.uid');

export const sshKeysOf = (db: Db | Tx, userId: string): Promise<SshKey[]> =>
  sshKeys(db).where('user_id', '=', userId).orderBy('key_id').execute();

export const sshKeyById = (db: Db | Tx, keyId: number): Promise<SshKey | undefined> =>
  sshKeys(db).where('key_id', '=', keyId).executeTakeFirst();

export const insertSshKey = (db: Db | Tx, key: Insertable<Database['ssh_keys']>) =>
  orConflict(db.insertInto('ssh_keys').values(key).returningAll().executeTakeFirstOrThrow(), {
    ssh_keys_value_key: 'This SSH key was already added, by you or by somebody else; add another key.',
  });

export const deleteSshKey = (db: Db | Tx, keyId: number) => db.deleteFrom('ssh_keys').where('key_id', '=', keyId).execute();
