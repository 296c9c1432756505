import { Type } from 'typebox';
import type { User } from '../../identity.ts';
import { entity, type Link } from '../../kernel/operation.ts';
import { Line, Time, unlessEmpty, Uuid } from '../../kernel/schema.ts';
import type { Caller } from '../../platform.ts';
import { Country } from './countries.ts';
import { userById } from './queries.ts';

const usernamePattern = '^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$';

const Username = Type.String({
  pattern: usernamePattern,
  'x-message': 'must be 1 to 63 letters, digits, dots, dashes or underscores, beginning with a letter or digit',
});

/** An e-mail address has one @, no spaces, and no character that could break out of a mail header or a page. */
const emailCharactersMax = 254;
const emailPattern = String.raw`^[^\s@"<>(),:;\\\p{C}]{1,64}@([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`;

/** An address that a browser can safely be sent to (never `javascript:`), or an empty string. */
const WebAddress = Type.String({
  maxLength: 2000,
  pattern: String.raw`^(https?://[^\s\u0000-\u001f"<>]+)?$`,
  'x-message': 'must be an address such as https://example.org',
});

/** What a person may change about themselves. */
export const profile = {
  username: Username,
  first_name: Line(100),
  last_name: Line(100),
  picture: WebAddress,
  company: Line(200),
  website: WebAddress,
  country: Country,
};

const schema = Type.Object({
  id: Uuid,
  deactivated: Type.Boolean(),
  namespace: Type.String({ description: 'The namespace within which the username is unique.' }),
  ...profile,
  email: Type.String({ format: 'email' }),
  email_verified: Type.Boolean(),
  phone_number_verified: Type.Boolean(),
  mfa_enabled: Type.Boolean(),
  sso_enabled: Type.Boolean(),
  created_at: Time,
  updated_at: Time,
  consented_at: unlessEmpty(Time),
  consent_method: unlessEmpty(Type.String({ enum: ['opt-in', 'text-ref'] })),
});

export const UserEntity = entity({
  name: 'user',
  path: '/users/{user_id}',
  params: { user_id: Uuid },
  schema,
  address: ({ id }: User) => ({ user_id: id }),
  scope: ({ id }) => ({ user: id }),
  view: 'user:view',
  load: ({ user_id }, { db }) => userById(db, user_id),
  links: (user, caller) =>
    Object.fromEntries(furtherLinks.filter(({ offered }) => offered(user, caller)).map(({ rel, to }) => [rel, to(user)])),
});

const mayEdit = ({ id }: User, caller: Caller | undefined) => caller?.can('user:edit', { user: id }) ?? false;
const maySecure = ({ id }: User, caller: Caller | undefined) =>
  (caller?.can('user:security', { user: id }) && caller.hindrance({ user: id }, 'user:security') === undefined) ?? false;

interface FurtherLink {
  rel: string;
  offered(user: User, caller: Caller | undefined): boolean;
  to(user: User): Link;
}

/** What can be done about a person at addresses that are not below their own. */
const furtherLinks: readonly FurtherLink[] = [
  // Everybody can make an organization of their own, and pages that offer it look for the link.
  { rel: 'create-organization', offered: ({ id }, caller) => caller?.id === id, to: () => ({ href: '/organizations' }) },
  {
    rel: 'installation',
    offered: ({ id }, caller) => caller?.id === id && caller.can('installation:view', {}),
    to: () => ({ href: '/installation' }),
  },
  { rel: 'tickets', offered: ({ id }, caller) => caller?.id === id, to: () => ({ href: '/tickets' }) },
  { rel: 'create-ticket', offered: ({ id }, caller) => caller?.id === id, to: () => ({ href: '/tickets', method: 'POST' }) },
  { rel: 'upload-picture', offered: mayEdit, to: ({ id }) => ({ href: `/profile/${id}/picture`, method: 'POST' }) },
  {
    rel: 'delete-picture',
    offered: (user, caller) => user.picture !== '' && mayEdit(user, caller),
    to: ({ id }) => ({ href: `/profile/${id}/picture`, method: 'DELETE' }),
  },
  { rel: 'change-password', offered: maySecure, to: ({ id }) => ({ href: `/profiles/${id}`, method: 'PATCH' }) },
  { rel: 'add-ssh-key', offered: maySecure, to: () => ({ href: '/ssh_keys', method: 'POST' }) },
  {
    rel: 'disable-totp',
    offered: (user, caller) => user.mfa_enabled && maySecure(user, caller),
    to: ({ id }) => ({ href: `/users/${id}/totp`, method: 'DELETE' }),
  },
  {
    rel: 'create-recovery-codes',
    offered: (user, caller) => user.mfa_enabled && maySecure(user, caller),
    to: ({ id }) => ({ href: `/users/${id}/codes`, method: 'POST' }),
  },
];

export const isEmail = (text: string) => text.length <= emailCharactersMax && new RegExp(emailPattern, 'u').test(text);
export const isUsername = (text: string) => new RegExp(usernamePattern, 'u').test(text);

export const displayName = ({ first_name, last_name, username }: Pick<User, 'first_name' | 'last_name' | 'username'>) =>
  `${first_name} ${last_name}`.trim() || username;
