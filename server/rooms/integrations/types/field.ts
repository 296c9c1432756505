/**
 * What a field of an integration is: what it may hold, what it holds where nobody said anything, and who is shown it. The tables of types are made of
 * these, and bodies, storage and replies follow from them.
 */
import { Type, type TSchema } from 'typebox';
import type { Config } from '../../../config.ts';
import { nullable } from '../../../kernel/schema.ts';

export type Values = Record<string, unknown>;

export interface Field {
  schema: TSchema;
  isRequired?: true;
  /** The field that it takes the place of: of the two, an integration has one. */
  insteadOf?: string;
  /** What it holds where nobody said anything. */
  usual?: unknown;
  /** A field that says so is sealed at rest. What a function leaves undefined is not in the reply at all. */
  secret?: { shownToManagers(value: unknown): unknown; shownToOthers(value: unknown): unknown };
}

/** A type of integration, as its line in the table of types. */
export interface IntegrationType {
  fields: Record<string, Field>;
  /** Whether something outside calls the platform to tell that there is news. */
  isHooked?: true;
  /** Secrets that the platform makes up itself. They are sealed with the others; nobody sends them, and nobody is shown them. */
  ownSecrets?: Record<string, () => string>;
  /** Values that the service outside tells of itself. They are stored with the others; nobody sends them, and `derived` shows them. */
  learned?: readonly string[];
  /** What replies have beside the fields. */
  derived?(values: Values): Values;
  /** What no schema can tell, by field: refused when it is sent. */
  mistakes?(values: Values): Record<string, string>;
  /** What is allowed to be absent, but keeps the integration from doing anything, by field: told by a validation. */
  lacks?(values: Values, config: Pick<Config, 'mail'>): Record<string, string>;
}

const itself = (value: unknown) => value;
const nothing = () => undefined;

export const required = (field: Field): Field => ({ ...field, isRequired: true });
export const writeOnly = (field: Field): Field => ({ ...field, secret: { shownToManagers: nothing, shownToOthers: nothing } });
/** Managers see it again; others who see the integration are shown something in its place. */
export const forManagers = (field: Field, shownToOthers: (value: unknown) => unknown): Field => ({
  ...field,
  secret: { shownToManagers: itself, shownToOthers },
});

const textCharactersMax = 1000;
const tokenCharactersMax = 8192;
const itemsMax = 100;

/** No line breaks: most fields end up in a header, in an address or in a line of a log. */
const oneLine = { pattern: String.raw`^[^\u0000-\u001f\u007f]*$`, 'x-message': 'must be one line without control characters' };

/** HTTP has no way to send other characters in a header. */
const inHeader = {
  pattern: String.raw`^[\u0020-\u007e\u00a0-\u00ff]*$`,
  'x-message': 'must be one line of characters that a header of HTTP can carry: those of Latin-1',
};

export const text = (description: string, usual?: string): Field => ({
  schema: Type.String({ minLength: usual === '' ? 0 : 1, maxLength: textCharactersMax, ...oneLine, description }),
  ...(usual !== undefined && { usual }),
});

/** A text that whoever types it hides from those who look over their shoulder. */
export const hiddenText = (charactersMax: number, description: string) =>
  ({ minLength: 1, maxLength: charactersMax, format: 'password', description }) as const;

export const key = (description: string, charactersMax = textCharactersMax): Field => ({
  schema: Type.String({ ...hiddenText(charactersMax, description), ...oneLine }),
});

export const token = (description: string): Field =>
  writeOnly({ schema: Type.String({ ...hiddenText(tokenCharactersMax, description), ...inHeader }) });

export const flag = (usual: boolean, description: string): Field => ({ schema: Type.Boolean({ description }), usual });

export const choice = (values: readonly string[], usual: string, description: string): Field => ({
  schema: Type.String({ enum: [...values], description }),
  usual,
});

export const address = (description: string): Field => ({
  schema: Type.String({
    maxLength: 2000,
    format: 'uri',
    pattern: String.raw`^https?://[^\s/?#]`,
    'x-message': 'must be a full address that begins with https:// or http://',
    description,
  }),
});

/** An address that may be a credential by itself, as those of chats and collectors are: who does not manage integrations sees whose it is. */
export const secretAddress = (description: string): Field => forManagers(address(description), originOf);

const originOf = (value: unknown) => (typeof value === 'string' && URL.canParse(value) ? `${new URL(value).origin}/` : '');

export const orNull = (field: Field & { schema: TSchema & { type: string } }): Field => ({
  ...field,
  schema: nullable(field.schema),
  usual: null,
});

export const list = (item: TSchema, usual: readonly string[] | undefined, description: string): Field => ({
  schema: Type.Array(item, { maxItems: itemsMax, description }),
  ...(usual !== undefined && { usual: [...usual] }),
});

const keyCharactersMax = 100;

export const map = (keyPattern: string, description: string, value: { pattern: string } = oneLine): Field => ({
  schema: Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: itemsMax,
    propertyNames: { minLength: 1, maxLength: keyCharactersMax, pattern: keyPattern },
    additionalProperties: { type: 'string', maxLength: tokenCharactersMax, ...value },
    description,
  }),
  usual: {},
});

export const headersOfRequests = (description: string): Field => map(String.raw`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`, description, inHeader);
