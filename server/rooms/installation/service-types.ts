/**
 * Service types that the operator described. They are kept as their files were written; every process has them in its catalogue, and follows what becomes of
 * them. One that cannot be read any more, after an upgrade, is told of and left out, so that nothing else suffers.
 */
import { describedEntry } from '../../catalogue/described-service.ts';
import { catalogue, isBuiltIn, offerDescribed, type Catalogue } from '../../catalogue/catalogue.ts';
import { shippedServices } from '../../catalogue/described-services.ts';
import type { ServiceEntry } from '../../catalogue/entry.ts';
import { readDescription } from '../../catalogue/read-description.ts';
import type { Log } from '../../kernel/log.ts';
import { notify, type Notices } from '../../kernel/notices.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { usesOfServiceType } from '../deployments/public.ts';

export interface StoredServiceType {
  name: string;
  description: string;
  updated_at: string;
}

export const storedServiceTypes = (db: Db | Tx): Promise<StoredServiceType[]> =>
  db.selectFrom('service_types').select(['name', 'description', 'updated_at']).orderBy('name').execute();

/** Offers what is stored, and from now on whatever becomes of it. Returns how to stop following. */
export async function followServiceTypes(db: Db, notices: Notices, log: Pick<Log, 'error'>): Promise<() => void> {
  const load = async () => offerStored(await storedServiceTypes(db), (sentence) => log.error(sentence));
  await load();
  let loading = Promise.resolve();
  return notices.on('catalogue', () => {
    loading = loading.then(load).catch((error: unknown) => log.error({ error }, 'service types could not be read; those before stay'));
  });
}

/** From now on this process offers what is stored, in place of what it offered of that kind before. */
export function offerStored(stored: readonly Pick<StoredServiceType, 'name' | 'description'>[], tell: (sentence: string) => void): void {
  const entries: Record<string, ServiceEntry> = {};
  for (const { name, description } of stored) {
    try {
      entries[name] = describedEntry(readDescription(description));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      tell(`The service type ${name} is not offered; describe it anew with ./offshoot service-type add. ${error.message}`);
    }
  }
  offerDescribed(entries);
}

/** Adds a service type, or changes it. Returns its name and its types, such as `search:3`. */
export async function addServiceType(db: Db, text: string): Promise<{ name: string; types: string[] }> {
  const description = readDescription(text);
  const { name } = description;
  if (isBuiltIn(name)) throw new Problem('conflict', `${name} is a type that Offshoot has itself; describe yours under another name.`);
  const entry = describedEntry(description);
  await db.transaction().execute(async (tx) => {
    await refuseWhereUsed(tx, name, entry);
    const stored = { name, description: text };
    await tx
      .insertInto('service_types')
      .values(stored)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ description: text, updated_at: new Date().toISOString() }))
      .execute();
    await notify(tx, 'catalogue', name);
  });
  return { name, types: entry.versions.map(({ version }) => `${name}:${version}`) };
}

/** What is shipped under the same name is offered again. */
export async function removeServiceType(db: Db, name: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx.deleteFrom('service_types').where('name', '=', name).executeTakeFirst();
    if (numDeletedRows === 0n) throw new Problem('not-found', notDescribed(name));
    await refuseWhereUsed(tx, name, shippedServices([])[name]);
    await notify(tx, 'catalogue', name);
  });
}

const notDescribed = (name: string) =>
  Object.hasOwn(catalogue satisfies Catalogue, name)
    ? `${name} comes with Offshoot, and cannot be removed.`
    : `There is no service type ${name}; ./offshoot service-type list shows those that there are.`;

const namedMax = 5;

/** Refuses to take away what environments run by. */
async function refuseWhereUsed(tx: Tx, name: string, entry: ServiceEntry | undefined): Promise<void> {
  const offered = new Set(entry?.versions.map(({ version }) => `${name}:${version}`));
  const lost = (await usesOfServiceType(tx, name)).filter(({ type }) => !offered.has(type));
  if (lost.length === 0) return;
  const named = lost.slice(0, namedMax).map((use) => `${use.environment_id} of ${use.project_id} (${use.type})`);
  const others = lost.length > namedMax ? ` and ${lost.length - namedMax} more` : '';
  throw new Problem('conflict', `It is in use: ${named.join(', ')}${others}. Have those environments leave it first.`);
}
