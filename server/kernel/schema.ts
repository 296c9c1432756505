/** The few shapes that every room uses. They are TypeBox, hence JSON Schema: one object validates, serialises, documents. */
import { Type, type Static, type TProperties, type TSchema } from 'typebox';

const uuidPattern = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** A UUID in the one spelling that the API emits, so that equal ids are equal texts. */
export const Uuid = Type.String({ format: 'uuid', pattern: uuidPattern, 'x-message': 'must be a UUID, in lower case' });
export const isUuid = (text: string) => new RegExp(uuidPattern).test(text);

export const Ulid = Type.String({ pattern: '^[0-9A-HJKMNP-TV-Z]{26}$', 'x-message': 'must be a ULID: 26 digits and capital letters' });

/** Read from the database with microseconds; each family of the API writes it in its own precision. */
export const Time = Type.String({ format: 'date-time' });

/** As the account family writes a time: milliseconds and `Z`. */
export const inMilliseconds = (time: string) => `${time.slice(0, 23)}Z`;

/** Two types in one schema rather than a union of two schemas: the serialiser then needs no validation to choose. */
export const nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [schema.type, 'null'],
    ...('enum' in schema && { enum: [...(schema.enum as unknown[]), null] }),
  });

/** Marks a field that a reply leaves out when there is nothing in it: an empty text is no address, e-mail address or country. */
export const emptyLeftOut = 'x-empty-left-out';
export const unlessEmpty = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, [emptyLeftOut]: true }));

/** A body that names only known fields: the rest is refused, each by name. */
export const closed = <T extends TProperties>(properties: T) => Type.Object(properties, { additionalProperties: false });

/**
 * One line of text as people type it: no control characters, which would forge log lines and terminal output, and none that turn the direction of
 * reading, behind which a name can look like another.
 */
export const Line = (charactersMax: number, options: { charactersMin?: number; description?: string } = {}) =>
  Type.String({
    minLength: options.charactersMin ?? 0,
    maxLength: charactersMax,
    pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$`,
    'x-message': 'must be one line without control characters',
    ...(options.description && { description: options.description }),
  });
