import { sql, type RawBuilder } from 'kysely';

/** A condition on a row with a column `slugs`, by application: all of the slugs are kept. */
export const areSlugsKept = (row: string): RawBuilder<boolean> =>
  sql<boolean>`not exists (select from jsonb_each(${sql.ref(`${row}.slugs`)}) as each(app, slug)
    where not exists (select from slugs where slugs.id = slug ->> 'slug_id'))`;
