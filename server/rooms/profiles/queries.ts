import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { User } from '../../identity.ts';
import type { Database } from '../../database.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { displayName } from '../users/public.ts';

type Details = Omit<Selectable<Database['profiles']>, 'user_id' | 'updated_at'>;
export type AddressFields = Omit<Selectable<Database['addresses']>, 'user_id'>;
export type Picture = Selectable<Database['pictures']>;

export type Profile = ReturnType<typeof presented>;

/** The details of somebody who has not entered any yet, which are the defaults of the table. */
const untold: Details = {
  company_type: '',
  company_role: '',
  vat_number: '',
  customer_type: 'individual',
  legal_entity_name: '',
  billing_contact: '',
  currency: 'EUR',
  ui_colorscheme: 'light',
  default_catalog: '',
  project_options_url: '',
  marketing: false,
};

const profiles = (db: Db | Tx) =>
  db
    .selectFrom('users')
    .leftJoin('profiles', 'profiles.user_id', 'users.id')
    .selectAll('users')
    .select(sql<Details | null>`to_json(profiles)`.as('details'));

function presented({ details, ...user }: User & { details: Details | null }) {
  const { id, email, username, picture, company, website, created_at, updated_at } = user;
  const told = details ?? untold;
  return {
    ...told,
    id,
    email,
    username,
    picture,
    display_name: displayName(user),
    type: 'user',
    company_name: company,
    website_url: website,
    new_ui: true,
    invoiced: false,
    billing_contact: told.billing_contact || email,
    created_at,
    updated_at,
  };
}

export const profileOf = async (db: Db | Tx, userId: string): Promise<Profile | undefined> => {
  const row = await profiles(db).where('users.id', '=', userId).executeTakeFirst();
  return row && presented(row);
};

/** The profiles of everybody, or the profile of one person when `userId` is given. */
export async function profilePage(db: Db, list: ListRequest, userId?: string): Promise<Page<Profile>> {
  const rows = userId === undefined ? profiles(db) : profiles(db).where('users.id', '=', userId);
  const page = await paged(rows, list);
  return { ...page, rows: page.rows.map(presented) };
}

export const changeProfile = (tx: Tx, user_id: string, changes: Updateable<Database['profiles']>) =>
  tx
    .insertInto('profiles')
    .values({ user_id, ...changes } as Insertable<Database['profiles']>)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ ...changes, updated_at: sql<string>`now()` }))
    .execute();

const blankAddress: AddressFields = {
  country: '',
  name_line: '',
  premise: '',
  sub_premise: '',
  thoroughfare: '',
  administrative_area: '',
  sub_administrative_area: '',
  locality: '',
  dependent_locality: '',
  postal_code: '',
};

export type Address = AddressFields & { user_id: string };

/** The address of a user; undefined when there is no such user. */
export async function addressOf(db: Db | Tx, userId: string): Promise<Address | undefined> {
  const row = await db
    .selectFrom('users')
    .leftJoin('addresses', 'addresses.user_id', 'users.id')
    .select('users.id as user_id')
    .select(sql<AddressFields | null>`to_json(addresses)`.as('address'))
    .where('users.id', '=', userId)
    .executeTakeFirst();
  return row && { ...(row.address ?? blankAddress), user_id: row.user_id };
}

export const changeAddress = (db: Db, user_id: string, changes: Partial<AddressFields>) =>
  db
    .insertInto('addresses')
    .values({ user_id, ...changes })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ user_id, ...changes }))
    .returningAll()
    .executeTakeFirstOrThrow();

export const pictureByVersion = (db: Db, version: string): Promise<Picture | undefined> =>
  db.selectFrom('pictures').selectAll().where('version', '=', version).executeTakeFirst();

export const putPicture = (tx: Tx, picture: Picture) =>
  tx
    .insertInto('pictures')
    .values(picture)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(picture))
    .execute();

export const deletePicture = (tx: Tx, userId: string) => tx.deleteFrom('pictures').where('user_id', '=', userId).execute();
