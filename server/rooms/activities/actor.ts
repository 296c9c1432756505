/** Who an activity is said to come from. */
import type { Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { displayName } from '../users/public.ts';

export interface Actor {
  id: string;
  created_at: string;
  updated_at: string;
  display_name: string;
}

export const actorOf = (
  user: Pick<Selectable<Database['users']>, 'id' | 'created_at' | 'updated_at' | 'first_name' | 'last_name' | 'username'>,
): Actor => ({
  id: user.id,
  created_at: user.created_at,
  updated_at: user.updated_at,
  display_name: displayName(user),
});

/** The platform itself, which stands in where an activity has no user, or the user is gone. */
const bot: Actor = {
  id: 'admin',
  created_at: '2026-01-01T00:00:00.000000+00:00',
  updated_at: '2026-01-01T00:00:00.000000+00:00',
  display_name: 'Offshoot Bot',
};

export async function actorById(db: Db | Tx, userId: string | null): Promise<Actor> {
  const user = userId === null ? undefined : await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
  return user ? actorOf(user) : bot;
}
