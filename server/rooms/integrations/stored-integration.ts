/** How an integration is kept: what may be shown as JSON, everything secret sealed together, so that no column tells a part of it. */
import type { Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import { fieldsOf, typeOf } from './types/types.ts';
import type { Values } from './types/field.ts';

export type StoredIntegration = Selectable<Database['integrations']> & { organization_id: string };

/** A sealed value opens in the row that it was made for, and nowhere else. */
const purpose = (id: string) => `integration ${id}`;

export function valueColumns(secrets: Secrets, id: string, type: string, values: Values) {
  const isSecret = new Map(fieldsOf(type).map(([name, { secret }]) => [name, secret !== undefined]));
  for (const name of Object.keys(typeOf(type).ownSecrets ?? {})) isSecret.set(name, true);
  for (const name of typeOf(type).learned ?? []) isSecret.set(name, false);
  const some = (wanted: boolean) =>
    JSON.stringify(Object.fromEntries(Object.entries(values).filter(([name]) => isSecret.get(name) === wanted)));
  return { settings: some(false), secrets_sealed: secrets.seal(purpose(id), some(true)) };
}

/** All fields, secrets among them, with what is usual where nobody said anything: also where the type got a field after the row was written. */
export const openedValues = (secrets: Secrets, { id, type, settings, secrets_sealed }: StoredIntegration): Values => ({
  ...usualValues(type),
  ...(settings as Values),
  ...(JSON.parse(secrets.open(purpose(id), secrets_sealed)) as Values),
});

export const usualValues = (type: string): Values =>
  Object.fromEntries(fieldsOf(type).flatMap(([name, { usual }]) => (usual === undefined ? [] : [[name, usual]])));

/** Made up anew with each call. */
export const freshSecrets = (type: string): Values =>
  Object.fromEntries(Object.entries(typeOf(type).ownSecrets ?? {}).map(([name, make]) => [name, make()]));
