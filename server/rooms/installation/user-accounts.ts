/** Everybody who has an account, as operators see them. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time, Uuid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';

const schema = Type.Object({
  id: Uuid,
  username: Type.String(),
  email: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  is_operator: Type.Boolean(),
  mfa_enabled: Type.Boolean(),
  deactivated: Type.Boolean(),
  organizations: Type.Integer({ description: 'How many organizations the person is in.' }),
  signed_in_at: Type.Unsafe<string | null>({
    ...nullable(Time),
    description: 'When a browser or program that is still signed in was last heard of; null where none is.',
  }),
  created_at: Time,
});

export const UserAccountEntity = entity({
  name: 'user account',
  path: '/installation/users/{user_id}',
  params: { user_id: Uuid },
  schema,
  address: ({ id }: UserAccount) => ({ user_id: id }),
  scope: () => ({}),
  view: 'installation:view',
  links: ({ id }) => ({ user: { href: `/users/${id}` }, 'sign-ins': { href: `/users/${id}/sign-ins` } }),
  load: ({ user_id }, { db }) => accountsIn(db).where('users.id', '=', user_id).executeTakeFirst(),
});

export type UserAccount = Awaited<ReturnType<ReturnType<typeof accountsIn>['execute']>>[number];

const accountsIn = (db: Db) =>
  db
    .selectFrom('users')
    .select(['id', 'username', 'email', 'first_name', 'last_name', 'is_operator', 'mfa_enabled', 'deactivated', 'created_at'])
    .select([
      sql<number>`(select count(*) from organization_members where organization_members.user_id = users.id)::int`.as('organizations'),
      sql<string | null>`(select max(last_used_at) from sign_ins where sign_ins.user_id = users.id)`.as('signed_in_at'),
    ]);

export const userAccounts = (db: Db) => db.selectFrom(accountsIn(db).as('users')).selectAll();
