import { randomBytes } from 'node:crypto';
import type { Insertable } from 'kysely';
import type { User } from '../../identity.ts';
import type { Database } from '../../database.ts';
import { ulid } from '../../kernel/id.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { isEmail } from '../users/public.ts';
import { insertMember, insertOrganization, nameTaken, noteAcceptance, ownedCount, type Organization } from './queries.ts';

type Asked = Pick<Insertable<Database['organizations']>, 'label' | 'type' | 'country' | 'security_contact'> & { name?: string };

const ownedMax = 100;

/** Creates an organization with its owner as the first member. Without a name, it gets one made from its label. */
export async function createOrganization(db: Db, owner: User, { name, ...asked }: Asked): Promise<Organization> {
  if (!owner.is_operator && (await ownedCount(db, owner.id)) >= ownedMax) {
    throw new Problem('conflict', `A user can own ${ownedMax} organizations; delete one that is no longer used.`);
  }
  const fields = { ...normalised(asked), label: asked.label, id: ulid(), owner_id: owner.id };
  return db.transaction().execute(async (tx) => {
    const names = name === undefined ? namesFor(asked.label) : [name];
    const organization = await insertUnderFirstFree(tx, fields, names);
    await insertMember(tx, { organization_id: organization.id, user_id: owner.id });
    await noteAcceptance(tx, organization.id, owner.id);
    return organization;
  });
}

/** Writes countries in capitals and e-mail addresses in small letters, and refuses what is no e-mail address. */
export function normalised<T extends { country?: string | undefined; security_contact?: string | undefined }>(fields: T): T {
  const { country, security_contact } = fields;
  if (security_contact !== undefined && security_contact !== '' && !isEmail(security_contact)) {
    throw invalidField('security_contact', 'must be an e-mail address');
  }
  return {
    ...fields,
    ...(country !== undefined && { country: country.toUpperCase() }),
    ...(security_contact !== undefined && { security_contact: security_contact.toLowerCase() }),
  };
}

async function insertUnderFirstFree(tx: Tx, fields: Omit<Insertable<Database['organizations']>, 'name'>, names: string[]) {
  for (const name of names) {
    const organization = await insertOrganization(tx, { ...fields, name });
    if (organization) return organization;
  }
  throw nameTaken();
}

const nameCharactersMax = 63;
const suffixBytes = 4;
const suffixedNames = 3;

/** Names made from the label: first the label itself, then others like it, in case that one is taken. */
function namesFor(label: string): string[] {
  const slug = slugOf(label);
  const suffixed = Array.from({ length: suffixedNames }, () => {
    const suffix = `-${randomBytes(suffixBytes).toString('hex')}`;
    return `${slugOf(slug.slice(0, nameCharactersMax - suffix.length))}${suffix}`;
  });
  return [slug, ...suffixed];
}

const slugOf = (label: string) =>
  label
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, nameCharactersMax)
    .replaceAll(/^-+|-+$/g, '') || 'organization';
