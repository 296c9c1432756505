import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, unlessEmpty, Uuid } from '../../kernel/schema.ts';
import { profile as userFields } from '../users/public.ts';
import { addressOf, type Address } from './queries.ts';

export const addressFields = {
  country: userFields.country,
  name_line: Line(200),
  premise: Line(200),
  sub_premise: Line(200),
  thoroughfare: Line(200),
  administrative_area: Line(100),
  sub_administrative_area: Line(100),
  locality: Line(100),
  dependent_locality: Line(100),
  postal_code: Line(20),
};

/** The postal address of a person, for invoices; with it, for forms, what the country calls each part and which parts it requires. */
export const AddressEntity = entity({
  name: 'address',
  path: '/profiles/{userId}/address',
  params: { userId: Uuid },
  schema: Type.Object({
    ...addressFields,
    country: unlessEmpty(addressFields.country),
    administrative_area: unlessEmpty(addressFields.administrative_area),
    metadata: Type.Object({
      required_fields: Type.Array(Type.String()),
      field_labels: Type.Record(Type.String(), Type.String()),
      show_vat: Type.Boolean(),
    }),
  }),
  address: ({ user_id }: Address & { metadata: Metadata }) => ({ userId: user_id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:view',
  load: async ({ userId }, { db }) => {
    const address = await addressOf(db, userId);
    return address && withMetadata(address);
  },
});

type Field = keyof typeof addressFields;

interface Metadata {
  required_fields: Field[];
  field_labels: Record<Field, string>;
  show_vat: boolean;
}

export const withMetadata = (address: Address) => ({ ...address, metadata: metadataOf(address.country) });

const requiredFields: Field[] = ['country', 'name_line', 'thoroughfare', 'locality', 'postal_code'];

/** Countries whose addresses have no postal code. */
const withoutPostalCode = new Set(['AE', 'AO', 'BS', 'BW', 'FJ', 'GH', 'HK', 'JM', 'QA', 'UG', 'ZW']);
/** Countries whose addresses need a state or province. */
const withArea = new Set(['AU', 'BR', 'CA', 'CN', 'IN', 'JP', 'MX', 'US']);

const labels: Record<Field, string> = {
  country: 'Country',
  name_line: 'Full name',
  premise: 'Address line 2',
  sub_premise: 'Apartment or unit',
  thoroughfare: 'Address line 1',
  administrative_area: 'Province',
  sub_administrative_area: 'County',
  locality: 'City',
  dependent_locality: 'District',
  postal_code: 'Postal code',
};

const labelsByCountry: Record<string, Partial<Record<Field, string>>> = {
  AU: { administrative_area: 'State', locality: 'Suburb', postal_code: 'Postcode' },
  GB: { locality: 'Town or city', administrative_area: 'County', postal_code: 'Postcode' },
  IE: { administrative_area: 'County', postal_code: 'Eircode' },
  IN: { administrative_area: 'State', postal_code: 'PIN code' },
  JP: { administrative_area: 'Prefecture' },
  US: { administrative_area: 'State', postal_code: 'ZIP code' },
};

const euCountries = 'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' ');
const vatCountries = new Set([...euCountries, 'CH', 'GB', 'NO']);

const metadataOf = (country: string): Metadata => ({
  required_fields: [
    ...requiredFields.filter((field) => field !== 'postal_code' || !withoutPostalCode.has(country)),
    ...(withArea.has(country) ? (['administrative_area'] as const) : []),
  ],
  field_labels: { ...labels, ...labelsByCountry[country] },
  show_vat: vatCountries.has(country),
});
