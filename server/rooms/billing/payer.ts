/** Who pays, as an order keeps it: the last that was known of the organization, also when it is gone. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { mapOf } from '../../kernel/stored-json.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { billingDetailsOf, type BillingDetails } from '../organizations/public.ts';

const text = Type.String();
export const PayerSchema = Type.Object({
  owner_id: text,
  /** The organization's. */
  label: text,
  company: text,
  vat_number: text,
  email: text,
  /** The currency of the country. */
  currency: text,
  address: mapOf(text),
});
export type Payer = Static<typeof PayerSchema>;

export const nobody: Payer = {
  owner_id: '00000000-0000-0000-0000-000000000000',
  label: '',
  company: '',
  vat_number: '',
  email: '',
  currency: '',
  address: {},
};

/** Undefined: the organization is gone. */
export async function payerNow(db: Db | Tx, organizationId: string): Promise<Payer | undefined> {
  const details = await billingDetailsOf(db, organizationId);
  return details && payerOf(details);
}

export const storedPayer = (stored: unknown): Payer => (Value.Check(PayerSchema, stored) ? stored : nobody);

function payerOf({ address: { organization_id: _organization, ...address }, profile }: BillingDetails): Payer {
  return {
    owner_id: profile.organization.owner_id,
    label: profile.organization.label,
    company: profile.legal_entity_name || profile.company_name || profile.organization.label,
    vat_number: profile.vat_number,
    email: profile.billing_contact,
    currency: profile.currency,
    address,
  };
}

/** As it stands on an envelope. */
export function addressLines({ address }: Payer): string[] {
  const { name_line, premise, sub_premise, thoroughfare, postal_code, dependent_locality, locality, administrative_area, country } =
    address;
  const town = [postal_code, locality].filter(Boolean).join(' ');
  return [name_line, thoroughfare, premise, sub_premise, dependent_locality, town, administrative_area, countryName(country ?? '')]
    .map((line) => line ?? '')
    .filter((line) => line !== '');
}

const countryNames = new Intl.DisplayNames('en', { type: 'region' });
const countryName = (code: string) => (/^[A-Z]{2}$/.test(code) ? (countryNames.of(code) ?? code) : code);
