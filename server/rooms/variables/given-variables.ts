/**
 * Variables that somebody gives along when they run something, `{env: {FILE: "a.txt"}}`: by prefix, then by name, like those of a configuration, and
 * stronger than all others. All that is wrong with them is told at once, each by its field, and no value is quoted: nobody says which are secret.
 */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { EffectiveVariable } from './effective-variables.ts';

const prefixesMax = 20;
const variablesMax = 100;
const nameCharactersMax = 256;
const valueBytesMax = 64 * 1024;
const bytesMax = 512 * 1024;

export const GivenVariables = Type.Unsafe<Record<string, Record<string, unknown>>>({
  type: 'object',
  maxProperties: prefixesMax,
  additionalProperties: { type: 'object', additionalProperties: true },
  description: 'By prefix, then by name: those of `env` become variables of the environment of its processes.',
});
export type GivenVariables = Static<typeof GivenVariables>;

export function checkedVariables(given: GivenVariables = {}): EffectiveVariable[] {
  const mistakes: Record<string, string> = {};
  for (const prefix of Object.keys(given))
    if (!/^[\w-]{1,100}$/.test(prefix)) mistakes[`variables.${prefix}`] = 'must be a prefix of letters, digits, _ and -, such as env';
  const all = Object.entries(given).flatMap(([prefix, values]) => Object.entries(values).map(([name, value]) => ({ prefix, name, value })));
  for (const { prefix, name, value } of all) {
    const mistake = nameMistake(prefix, name) ?? valueMistake(value);
    if (mistake !== undefined) mistakes[`variables.${prefix}.${name}`] = mistake;
  }
  const variables = all.map(({ prefix, name, value }) => variableOf(`${prefix}:${name}`, value));
  const bytes = variables.reduce((sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (all.length > variablesMax) mistakes['variables'] = `must be ${variablesMax} at most`;
  else if (bytes > bytesMax) mistakes['variables'] = `must be ${bytesMax / 1024} KiB at most, together`;
  const sentences = Object.entries(mistakes).map(([field, mistake]) => `${field} ${mistake}.`);
  if (sentences.length > 0) throw new Problem('invalid-request', sentences.join(' '), { fields: mistakes });
  return variables;
}

function nameMistake(prefix: string, name: string): string | undefined {
  if (name.length > nameCharactersMax) return `must have a name of ${nameCharactersMax} characters at most`;
  if (prefix !== 'env') return /^[^\p{C}\p{Z}]+$/u.test(name) ? undefined : 'must have a name without spaces and control characters';
  if (/^platform_/i.test(name)) return 'cannot be set: such names are for what the platform says';
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
    ? undefined
    : 'must have a name of letters, digits and underscores that does not begin with a digit';
}

function valueMistake(value: unknown): string | undefined {
  if (value === null) return 'must be a text, a number, true or false, a list or an object';
  if (typeof value === 'string' && value.includes('\0')) return 'must not hold a zero byte';
  return Buffer.byteLength(textOf(value)) > valueBytesMax ? `must be ${valueBytesMax / 1024} KiB at most` : undefined;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const variableOf = (name: string, value: unknown): EffectiveVariable => ({
  name,
  value: textOf(value),
  is_json: typeof value !== 'string',
  is_sensitive: false,
  visible_build: true,
  visible_runtime: true,
  application_scope: [],
});

/** Given variables replace those of the same name. One that replaces a sensitive variable is sensitive itself. */
export function withGiven(variables: readonly EffectiveVariable[], given: readonly EffectiveVariable[]): EffectiveVariable[] {
  const secret = new Set(variables.filter(({ is_sensitive }) => is_sensitive).map(({ name }) => name));
  const names = new Set(given.map(({ name }) => name));
  return [
    ...variables.filter(({ name }) => !names.has(name)),
    ...given.map((variable) => ({ ...variable, is_sensitive: secret.has(variable.name) })),
  ];
}

const Sealed = Type.Array(
  Type.Object({
    name: Type.String(),
    value: Type.String(),
    is_json: Type.Boolean(),
    is_sensitive: Type.Boolean(),
    visible_build: Type.Boolean(),
    visible_runtime: Type.Boolean(),
    application_scope: Type.Array(Type.String()),
  }),
);

/** Seals given variables until their run begins. `what` names that run; they cannot be opened for another. */
export const sealGiven = (secrets: Secrets, what: string, given: readonly EffectiveVariable[]): string =>
  secrets.seal(`given variables ${what}`, JSON.stringify(given));

export const openGiven = (secrets: Secrets, what: string, sealed: string): EffectiveVariable[] =>
  Value.Parse(Sealed, JSON.parse(secrets.open(`given variables ${what}`, sealed)));
