import { Type } from 'typebox';
import { one, operation, updated } from '../../../kernel/operation.ts';
import { BillingAddressEntity, billingAddressFields } from '../billing-address.ts';
import { BillingProfileEntity, billingProfileFields, normalisedProfile, shownProfile } from '../billing-profile.ts';
import { changeBillingAddress, changeBillingProfile, presentDetails } from '../billing-queries.ts';
import { normalised } from '../create-organization.ts';
import { OrganizationEntity } from '../organization.ts';

export const getOrganizationAddress = operation({
  summary: 'Show the billing address of an organization',
  endpoint: 'GET /organizations/{organization_id}/address',
  on: OrganizationEntity,
  rel: 'address',
  permission: 'billing:view',
  returns: one(BillingAddressEntity),
  handle: async ({ target }, { db }) => (await presentDetails(db, target.id)).address,
});

export const updateOrganizationAddress = operation({
  summary: 'Change the billing address of an organization',
  endpoint: 'PATCH /organizations/{organization_id}/address',
  on: BillingAddressEntity,
  rel: 'update',
  permission: 'billing:manage',
  body: Type.Partial(Type.Object(billingAddressFields), { additionalProperties: false }),
  example: {
    country: 'NL',
    name_line: 'Analytical Engines',
    thoroughfare: 'Keizersgracht 1',
    locality: 'Amsterdam',
    postal_code: '1015 CN',
  },
  returns: updated(BillingAddressEntity),
  handle: ({ target, body }, { db }) => changeBillingAddress(db, target.organization_id, normalised(body)),
});

export const getOrganizationProfile = operation({
  summary: 'Show the billing profile of an organization',
  endpoint: 'GET /organizations/{organization_id}/profile',
  on: OrganizationEntity,
  rel: 'profile',
  permission: 'billing:view',
  returns: one(BillingProfileEntity),
  handle: async ({ target }, { db }) => shownProfile((await presentDetails(db, target.id)).profile),
});

export const updateOrganizationProfile = operation({
  summary: 'Change the billing profile of an organization',
  endpoint: 'PATCH /organizations/{organization_id}/profile',
  on: BillingProfileEntity,
  rel: 'update',
  permission: 'billing:manage',
  body: Type.Partial(Type.Object(billingProfileFields), { additionalProperties: false }),
  example: { company_name: 'Analytical Engines', vat_number: 'NL123456782B01', billing_contact: 'billing@example.org' },
  returns: updated(BillingProfileEntity),
  handle: async ({ target: { organization_id }, body }, { db }) => {
    const { address } = await presentDetails(db, organization_id);
    return shownProfile(await changeBillingProfile(db, organization_id, normalisedProfile(body, address.country)));
  },
});
