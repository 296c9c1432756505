import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { unlessEmpty } from '../../kernel/schema.ts';
import { addressFields } from '../profiles/public.ts';
import { CountryInAnyCase } from '../users/public.ts';
import { billingDetailsOf, type BillingAddress } from './billing-queries.ts';
import { OrganizationAddress } from './organization.ts';

/** What of the address can be changed. */
export const billingAddressFields = { ...addressFields, country: CountryInAnyCase };

/** The postal address to which an organization's invoices are made out. */
export const BillingAddressEntity = entity({
  name: 'organization address',
  path: '/organizations/{organization_id}/address',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    ...addressFields,
    country: unlessEmpty(addressFields.country),
    administrative_area: unlessEmpty(addressFields.administrative_area),
  }),
  address: ({ organization_id }: BillingAddress) => ({ organization_id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async ({ organization_id }, { db }) => (await billingDetailsOf(db, organization_id))?.address,
});
