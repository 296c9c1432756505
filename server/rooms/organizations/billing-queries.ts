/** Who pays for an organization: its billing address and billing profile, and who is written to about money. */
import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { currencyOf } from './currency.ts';
import { organizationAt, organizationGone, type Organization } from './queries.ts';

type AddressFields = Omit<Selectable<Database['organization_addresses']>, 'organization_id'>;
type ProfileFields = Omit<Selectable<Database['organization_profiles']>, 'organization_id' | 'updated_at'>;

export type BillingAddress = AddressFields & { organization_id: string };

export interface BillingProfile extends ProfileFields {
  organization: Organization;
  /** ISO 4217, as it follows from the billing address. */
  currency: string;
  /** Of the organization's owner. */
  email: string;
  updated_at: string;
}

/** All that an invoice says of the one who pays. */
export interface BillingDetails {
  address: BillingAddress;
  profile: BillingProfile;
}

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

const untold: ProfileFields = {
  company_name: '',
  legal_entity_name: '',
  customer_type: 'corporation',
  vat_number: '',
  billing_contact: '',
  default_catalog: '',
  project_options_url: '',
};

/** The address and profile of an organization, by its id or as `name=…`; undefined when there is no such organization. */
export async function billingDetailsOf(db: Db | Tx, address: string): Promise<BillingDetails | undefined> {
  const organization = await organizationAt(db, address);
  if (!organization) return undefined;
  const { id } = organization;
  const told = await db
    .selectFrom('users')
    .leftJoin('organization_addresses', (join) => join.on('organization_addresses.organization_id', '=', id))
    .leftJoin('organization_profiles', (join) => join.on('organization_profiles.organization_id', '=', id))
    .select('users.email')
    .select(sql<AddressFields | null>`to_json(organization_addresses)`.as('address'))
    .select(sql<ProfileFields | null>`to_json(organization_profiles)`.as('profile'))
    .select('organization_profiles.updated_at')
    .where('users.id', '=', organization.owner_id)
    .executeTakeFirstOrThrow();
  const country = told.address?.country || organization.country;
  const profile = told.profile ?? untold;
  return {
    address: { ...(told.address ?? blankAddress), country, organization_id: id },
    profile: {
      ...profile,
      organization,
      currency: currencyOf(country),
      email: told.email,
      billing_contact: profile.billing_contact || told.email,
      updated_at: told.updated_at ?? organization.updated_at,
    },
  };
}

export async function changeBillingAddress(db: Db, organization_id: string, changes: Partial<AddressFields>): Promise<BillingAddress> {
  await db
    .insertInto('organization_addresses')
    .values({ organization_id, ...changes })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ organization_id, ...changes }))
    .execute();
  return (await presentDetails(db, organization_id)).address;
}

export async function changeBillingProfile(
  db: Db,
  organization_id: string,
  changes: Updateable<Database['organization_profiles']>,
): Promise<BillingProfile> {
  await db
    .insertInto('organization_profiles')
    .values({ organization_id, ...changes } as Insertable<Database['organization_profiles']>)
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ ...changes, updated_at: sql<string>`clock_timestamp()` }))
    .execute();
  return (await presentDetails(db, organization_id)).profile;
}

/** The same, of an organization that was there a moment ago. */
export async function presentDetails(db: Db, organizationId: string): Promise<BillingDetails> {
  const details = await billingDetailsOf(db, organizationId);
  if (!details) throw organizationGone();
  return details;
}

/** Who is written to about money: the owner, the members with the permission `billing`, and the billing contact; each address once. */
export async function billingRecipients(db: Db | Tx, organizationId: string): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select lower(users.email) as email from organization_members as members join users on users.id = members.user_id
    join organizations on organizations.id = members.organization_id
    where members.organization_id = ${organizationId} and not users.deactivated
      and (users.id = organizations.owner_id or members.permissions && array['billing', 'admin'])
    union select lower(billing_contact) from organization_profiles where organization_id = ${organizationId} and billing_contact <> ''
    order by 1`.execute(db);
  return rows.map(({ email }) => email);
}
