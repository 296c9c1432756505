import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { uuidOfUlid } from '../../kernel/id.ts';
import { invalidField } from '../../kernel/problem.ts';
import { Line, Time, Uuid } from '../../kernel/schema.ts';
import { isEmail, profile as userFields } from '../users/public.ts';
import { billingDetailsOf, type BillingProfile } from './billing-queries.ts';
import { OrganizationAddress } from './organization.ts';
import { normalisedVatNumber, vatNumberMistake } from './vat-number.ts';

const customerTypes = ['individual', 'corporation', 'government'];

/** The published API spells two of the types otherwise where they are changed; both spellings are accepted. */
const otherSpellings: Record<string, string> = { indvidual: 'individual', company: 'corporation' };

/** What of the profile can be changed. */
export const billingProfileFields = {
  company_name: Line(200),
  legal_entity_name: Line(200),
  customer_type: Type.String({ enum: [...customerTypes, ...Object.keys(otherSpellings)] }),
  vat_number: Line(50, { description: 'With the prefix of its country. Its form is checked where the country is known.' }),
  billing_contact: Type.String({ maxLength: 254, description: 'The e-mail address to write to about invoices; empty: that of the owner.' }),
  default_catalog: userFields.website,
  project_options_url: userFields.website,
};

interface Changes {
  vat_number?: string | undefined;
  customer_type?: string | undefined;
  billing_contact?: string | undefined;
}

/** Writes the type of customer in one spelling, the e-mail address in small letters and the VAT number without blanks, and refuses what cannot be one. */
export function normalisedProfile<T extends Changes>(changes: T, country: string): T {
  const { customer_type, billing_contact } = changes;
  const vat_number = changes.vat_number === undefined ? undefined : normalisedVatNumber(changes.vat_number);
  const mistake = vat_number ? vatNumberMistake(vat_number, country) : undefined;
  if (mistake !== undefined) throw invalidField('vat_number', mistake);
  if (billing_contact !== undefined && billing_contact !== '' && !isEmail(billing_contact))
    throw invalidField('billing_contact', 'must be an e-mail address');
  return {
    ...changes,
    ...(vat_number !== undefined && { vat_number }),
    ...(customer_type !== undefined && { customer_type: otherSpellings[customer_type] ?? customer_type }),
    ...(billing_contact !== undefined && { billing_contact: billing_contact.toLowerCase() }),
  };
}

export type ShownProfile = ReturnType<typeof shownProfile>;

/** An organization as billing knows it, in the shape that profiles of people have. */
export const BillingProfileEntity = entity({
  name: 'organization profile',
  path: '/organizations/{organization_id}/profile',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    id: { ...Uuid, description: 'The id of the organization, spelled as a UUID.' },
    display_name: Type.String(),
    email: Type.String({ format: 'email', description: 'Of the owner.' }),
    username: Type.String({ description: 'The name of the organization.' }),
    type: Type.String({ enum: ['user', 'organization'] }),
    ...billingProfileFields,
    customer_type: Type.String({ enum: customerTypes }),
    billing_contact: Type.String({ format: 'email' }),
    currency: Type.String({ description: 'ISO 4217, as it follows from the address.' }),
    invoiced: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ organization_id }: ShownProfile) => ({ organization_id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async ({ organization_id }, { db }) => {
    const details = await billingDetailsOf(db, organization_id);
    return details && shownProfile(details.profile);
  },
});

export const shownProfile = ({ organization, ...profile }: BillingProfile) => ({
  ...profile,
  organization_id: organization.id,
  id: uuidOfUlid(organization.id),
  display_name: organization.label,
  username: organization.name,
  type: 'organization',
  invoiced: true,
  created_at: organization.created_at,
});
