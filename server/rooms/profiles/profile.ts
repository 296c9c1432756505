import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, Time, unlessEmpty, Uuid } from '../../kernel/schema.ts';
import { profile as userFields } from '../users/public.ts';
import { profileOf, type Profile } from './queries.ts';

const colorSchemes = ['light', 'dark'];
const customerTypes = ['individual', 'corporation', 'government'];

/** The fields of a profile that the person may change. */
export const profileFields = {
  display_name: Line(100, { charactersMin: 1 }),
  username: userFields.username,
  picture: userFields.picture,
  company_type: Line(100),
  company_name: userFields.company,
  company_role: Line(100),
  vat_number: Line(50),
  ui_colorscheme: Type.String({ enum: colorSchemes }),
  default_catalog: userFields.website,
  project_options_url: userFields.website,
  marketing: Type.Boolean(),
};

/** A person as the older part of the API shows them: the user, and what a business would know of them. */
export const ProfileEntity = entity({
  name: 'profile',
  path: '/profiles/{userId}',
  params: { userId: Uuid },
  schema: Type.Object({
    id: Uuid,
    ...profileFields,
    picture: unlessEmpty(profileFields.picture),
    email: Type.String({ format: 'email' }),
    type: Type.String({ enum: ['user', 'organization'] }),
    currency: Type.String({ description: 'ISO 4217.' }),
    website_url: userFields.website,
    new_ui: Type.Boolean(),
    billing_contact: Type.String({ format: 'email' }),
    invoiced: Type.Boolean(),
    customer_type: Type.String({ enum: customerTypes }),
    legal_entity_name: Type.String(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ id }: Profile) => ({ userId: id }),
  scope: ({ id }) => ({ user: id }),
  view: 'user:view',
  load: ({ userId }, { db }) => profileOf(db, userId),
});
