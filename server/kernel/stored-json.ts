/** For what was written down elsewhere, and is read back: a few more shapes, and words for what does not fit. Requests are parsed by parse.ts. */
import { Type, type TSchema } from 'typebox';
import { Value } from 'typebox/value';

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const oneOf = <T extends string>(...words: readonly T[]) => Type.Unsafe<T>({ type: 'string', enum: words });
export const mapOf = <T extends TSchema>(schema: T) => Type.Record(Type.String(), schema);
/** An object whose keys all match the pattern. */
export const mapBy = <T extends TSchema>(pattern: string, schema: T) =>
  Type.Record(Type.String({ pattern }), schema, { additionalProperties: false });

/** The first thing that is wrong with a value that does not fit: `model.services.db.type must be string`. */
export function flawOf(schema: TSchema, value: unknown): string {
  const [error] = Value.Errors(schema, value);
  if (!error) return 'It is not what it should be';
  const path = error.instancePath.split('/').slice(1).map(unescaped).join('.');
  return `${path === '' ? 'It' : path} ${error.keyword === 'boolean' ? 'is a name that cannot be' : error.message}`;
}

const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
