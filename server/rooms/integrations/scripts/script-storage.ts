/** What a script keeps from one run to the next: a few values by name, as JSON, for each integration. */
import { sql } from 'kysely';
import { Problem } from '../../../kernel/problem.ts';
import type { Db } from '../../../kernel/sql.ts';
import { storableJson, storableText } from '../../../kernel/storable.ts';

const keysMax = 1000;
const keyCharactersMax = 250;
const valueCharactersMax = 64 * 1024;

export const storageOf = (db: Db, integrationId: string) => ({
  getStored: async (key: unknown): Promise<unknown> => {
    const { rows } = await sql<{ value: unknown }>`
      select value from integration_storage where integration_id = ${integrationId} and key = ${keyOf(key)}`.execute(db);
    return rows[0]?.value ?? null;
  },
  setStored: async (key: unknown, value: unknown): Promise<void> => {
    const text = storableJson(value ?? null);
    if (text.length > valueCharactersMax)
      throw new Problem('invalid-request', `A value of the storage has at most ${valueCharactersMax} characters as JSON.`);
    const { numAffectedRows } = await sql`
      insert into integration_storage (integration_id, key, value) select ${integrationId}, ${keyOf(key)}, ${text}::jsonb
      where (select count(*) from integration_storage where integration_id = ${integrationId} and key <> ${keyOf(key)}) < ${keysMax}
      on conflict (integration_id, key) do update set value = excluded.value`.execute(db);
    if (numAffectedRows !== 1n) throw new Problem('invalid-request', `The storage holds at most ${keysMax} values.`);
  },
  removeStored: async (key: unknown): Promise<void> => {
    await sql`delete from integration_storage where integration_id = ${integrationId} and key = ${keyOf(key)}`.execute(db);
  },
  clearStored: async (): Promise<void> => {
    await sql`delete from integration_storage where integration_id = ${integrationId}`.execute(db);
  },
});

/** What a script sends here, it may have made to be anything. */
function keyOf(key: unknown): string {
  if (typeof key === 'string' && key.length <= keyCharactersMax) return storableText(key);
  throw new Problem('invalid-request', `A key of the storage is a text of at most ${keyCharactersMax} characters.`);
}
