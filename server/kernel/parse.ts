/**
 * Where requests become values. A schema is compiled once at boot; a request that does not fit is answered with every bad field by name.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import qs from 'qs';
import secureJson from 'secure-json-parse';
import type { TSchema } from 'typebox';
import { invalidField, Problem } from './problem.ts';

export type Parser = (value: unknown) => unknown;

const withFormats = (ajv: Ajv) => {
  addFormats.default(ajv, ['email', 'uuid', 'uri', 'date-time', 'date', 'hostname', 'password']);
  return ajv.addKeyword(messageKeyword);
};

/** A schema may say in words what its `pattern` or `format` asks for. */
const messageKeyword = 'x-message';
const options = { allErrors: true, verbose: true, useDefaults: true, strict: false, discriminator: true } as const;
const bodies = withFormats(new Ajv(options));
/** Everything in a query string is text until a schema says otherwise. */
const queries = withFormats(new Ajv({ ...options, coerceTypes: 'array' }));

export const compileBody = (schema: TSchema): Parser => parserOf(bodies.compile(schema), 'The body');
export const compileQuery = (schema: TSchema): Parser => parserOf(queries.compile(schema), 'The query string');
/** Path parameters are text; one that does not fit names nothing. */
export const compileParams = (schema: TSchema) => {
  const fits = queries.compile(schema);
  return (params: Record<string, string>) => Object.values(params).every((value) => !flawOf(value)) && fits({ ...params });
};

function parserOf(validate: ValidateFunction, whole: string): Parser {
  return (value) => {
    if (!validate(value)) throw invalid(validate.errors ?? [], whole);
    return value;
  };
}

const fieldErrorsMax = 20;

function invalid(errors: ErrorObject[], whole: string) {
  const fields: Record<string, string> = {};
  // What a condition asks for is told by itself; that a condition asked for it is of no use to anybody.
  const told = errors.filter(({ keyword }) => keyword !== 'if');
  for (const error of told.slice(0, fieldErrorsMax)) fields[fieldOf(error) || whole] ??= messageOf(error);
  const sentences = Object.entries(fields).map(([field, message]) => `${field} ${message}.`);
  return new Problem('invalid-request', sentences.join(' '), { fields });
}

function fieldOf({ instancePath, keyword, params }: ErrorObject) {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (keyword === 'required') path.push(String(params['missingProperty']));
  if (keyword === 'additionalProperties') path.push(String(params['additionalProperty']));
  if (keyword === 'discriminator') path.push(String(params['tag']));
  return path.join('.');
}

const formatNames: Record<string, string> = {
  email: 'an e-mail address',
  uuid: 'a UUID',
  uri: 'a full address such as https://example.org',
  'date-time': 'a date such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  hostname: 'a host name',
};

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};
const typesIn = (types: unknown) =>
  String(types)
    .split(',')
    .map((type) => typeNames[type] ?? type)
    .join(' or ');

const limitWords: Record<string, (limit: number) => string> = {
  minLength: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: (limit) => `must have at most ${limit} characters`,
  minItems: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} items`),
  maxItems: (limit) => `must have at most ${limit} items`,
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
};

function messageOf({ keyword, params, message = 'is not valid', parentSchema }: ErrorObject) {
  const aboutLimit = limitWords[keyword];
  if (aboutLimit) return aboutLimit(Number(params['limit']));
  if (keyword === 'type') return `must be ${typesIn(params['type'])}`;
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}`;
  if (keyword === 'discriminator') return `must be one of ${variantsIn(parentSchema).join(', ')}`;
  const said: unknown = parentSchema?.[messageKeyword];
  if (typeof said === 'string' && (keyword === 'pattern' || keyword === 'format')) return said;
  if (keyword === 'format') return `must be ${formatNames[String(params['format'])] ?? `of the format ${params['format']}`}`;
  return message;
}

interface Discriminated {
  discriminator: { propertyName: string };
  oneOf: { properties: Record<string, { enum?: unknown[] }> }[];
}

/** The values that choose among the variants of a schema with a discriminator. */
function variantsIn(schema: unknown): unknown[] {
  const { oneOf, discriminator } = schema as Discriminated;
  return oneOf.flatMap(({ properties }) => properties[discriminator.propertyName]?.enum ?? []);
}

/** The text of a body as JSON; nothing at all is undefined, for clients that send a JSON content type and no body. */
export function parseJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    const value: unknown = secureJson.parse(text);
    refuseUnstorable(value, 'The body');
    return value;
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem('invalid-request', 'The body is not valid JSON.', { cause });
  }
}

const nestingMax = 100;

/**
 * What PostgreSQL can keep neither as text nor as JSON, wherever in a request it is: NUL, half of a surrogate pair, nesting without end. No person
 * types any of it, so it is refused here, once, and not by every schema.
 */
function refuseUnstorable(value: unknown, whole: string, path = '', depth = 0): void {
  const field = path || whole;
  if (depth > nestingMax) throw new Problem('invalid-request', `${whole} is nested more than ${nestingMax} levels deep.`);
  if (typeof value === 'string') {
    const flaw = flawOf(value);
    if (flaw) throw invalidField(field, `must not contain ${flaw}`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const flaw = flawOf(key);
    if (flaw) throw invalidField(field, `must not have a field name that contains ${flaw}`);
    refuseUnstorable(inner, whole, path ? `${path}.${key}` : key, depth + 1);
  }
}

function flawOf(text: string): string | undefined {
  if (text.includes('\0')) return 'NUL characters';
  return text.isWellFormed() ? undefined : 'half of a surrogate pair';
}

const queryParametersMax = 200;

/** `a[]=1&a[]=2`, `a[0]=1`, `a=1&a=2` and `filter[field][op]=value`, into plain objects without prototypes. */
export function parseQueryString(text: string): Record<string, unknown> {
  if (text === '') return {};
  const query = qs.parse(text, {
    depth: 3,
    parameterLimit: queryParametersMax,
    arrayLimit: queryParametersMax,
    plainObjects: true,
    ignoreQueryPrefix: true,
  });
  refuseUnstorable(query, 'The query string');
  return query;
}
