/**
 * What requests about measurements ask, from their queries as they were sent. Every rule that is broken is told under its parameter, all at once. Arrays are written `name[]=value` or
 * `name[0]=value`, and each filter has a mode beside it.
 */
import { Type, type TProperties, type TSchema } from 'typebox';
import type { Filter, FilterMode, TimeRange } from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import type { JudgedQuery } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';

export type Violations = Record<string, string[]>;

export interface Reading {
  parameters: URLSearchParams;
  /** Unix seconds. */
  now: number;
  violate(name: string, message: string): void;
}

type Understood<T> = T | { violations: Violations };

/** `read` answers undefined where something that it needs is missing or wrong, and has said so. */
export function readQuery<T extends object>(query: string, now: number, read: (reading: Reading) => T | undefined): Understood<T> {
  const violations: Violations = {};
  const violate = (name: string, message: string) => (violations[name] ??= []).push(message);
  const request = read({ parameters: new URLSearchParams(query), now, violate });
  return request === undefined || Object.keys(violations).length > 0 ? { violations } : request;
}

export function judgedQuery<T extends object>(documented: TProperties, read: (reading: Reading) => T | undefined): JudgedQuery<T> {
  return {
    documented: closed(documented),
    read: (text) => {
      const understood = readQuery(text, Date.now() / 1000, read);
      if ('violations' in understood) throw violated(understood.violations);
      return understood;
    },
  };
}

function violated(violations: Violations): Problem {
  const sentences = Object.entries(violations).flatMap(([name, messages]) => messages.map((message) => `${name}: ${message}`));
  return new Problem('invalid-request', sentences.join(' '), { body: { violations } });
}

/** Undefined: it is absent, or wrong. */
export function wholeNumber({ parameters, violate }: Reading, name: string): number | undefined {
  const value = parameters.get(name);
  if (value === null) return undefined;
  const number = Number(value);
  if (/^-?\d+$/.test(value) && Number.isSafeInteger(number)) return number;
  violate(name, 'This value should be of type integer.');
  return undefined;
}

export interface Between {
  least: number;
  most: number;
  byDefault: number;
}

export function boundedNumber(reading: Reading, name: string, { least, most, byDefault }: Between): number {
  const number = wholeNumber(reading, name) ?? byDefault;
  if (number < least || number > most) reading.violate(name, `This value should be between ${least} and ${most}.`);
  return number;
}

export function choice<T extends string>({ parameters, violate }: Reading, name: string, choices: readonly T[], byDefault: T): T {
  const value = parameters.get(name);
  const chosen = value === null ? byDefault : choices.find((each) => each === value);
  if (chosen === undefined) violate(name, `This value should be one of ${choices.join(', ')}.`);
  return chosen ?? byDefault;
}

/** What one parameter may name. */
const valuesMax = 1000;

/** Each value once, in the order in which they were sent. */
export function arrayOf({ parameters, violate }: Reading, name: string): string[] {
  const written = new RegExp(String.raw`^${name}\[\d*\]$`);
  const values = [...new Set([...parameters].flatMap(([key, value]) => (key === name || written.test(key) ? value : [])))];
  if (values.length > valuesMax) violate(name, `This value should have at most ${valuesMax} elements.`);
  return values;
}

export function choicesOf<T extends string>(reading: Reading, name: string, choices: readonly T[]): T[] {
  const values = arrayOf(reading, name);
  const chosen = values.flatMap((value) => choices.find((each) => each === value) ?? []);
  if (chosen.length < values.length) reading.violate(name, `Each value should be one of ${choices.join(', ')}.`);
  return chosen;
}

const modes: Readonly<Record<string, FilterMode>> = { '1': 'additive', '-1': 'subtractive' };

export interface FilterRule {
  choices?: readonly string[];
  /** What holds where neither values nor a mode are given. */
  unsaid?: Filter;
}

/** Without a mode: only the values, where there are any. */
export function filterOf(reading: Reading, name: string, { choices, unsaid }: FilterRule = {}): Filter {
  const values = choices ? choicesOf(reading, name, choices) : arrayOf(reading, name);
  const written = reading.parameters.get(`${name}_mode`);
  if (unsaid && values.length === 0 && written === null) return unsaid;
  if (written === null) return { values, mode: values.length > 0 ? 'additive' : 'subtractive' };
  const mode = Object.hasOwn(modes, written) ? modes[written] : undefined;
  if (mode === undefined) reading.violate(`${name}_mode`, 'This value should be one of 1, -1.');
  return { values, mode: mode ?? 'additive' };
}

/** Undefined: one of them is missing or wrong. */
export function rangeOf(reading: Reading): TimeRange | undefined {
  const { parameters, now, violate } = reading;
  const [from, to] = [wholeNumber(reading, 'from'), wholeNumber(reading, 'to')];
  for (const name of ['from', 'to']) if (parameters.get(name) === null) violate(name, 'This value is required.');
  if (from !== undefined && from >= now) violate('from', 'The from timestamp must be in the past.');
  if (from === undefined || to === undefined) return undefined;
  if (to <= from) violate('to', 'The to timestamp must be greater than the from timestamp.');
  return { from, to };
}

export type GrainedRange = TimeRange & { grain: number };

/** With the distance of points, which is chosen by the range where nobody has said so. */
export function grainedRangeOf(reading: Reading, chosen: (range: TimeRange) => number = grainOf): GrainedRange | undefined {
  const range = rangeOf(reading);
  const grain = wholeNumber(reading, 'grain');
  if (grain !== undefined && grain < 1) reading.violate('grain', 'This value should be at least 1.');
  if (!range) return undefined;
  const window = range.to - range.from;
  if (grain !== undefined && window > 0 && grain > window) reading.violate('grain', 'Grain can not be larger than the selection windows.');
  return { ...range, grain: grain ?? chosen(range) };
}

const Seconds = (description: string) => Type.Integer({ format: 'int64', description });

export const rangeParameters = {
  from: Seconds('Unix seconds; included.'),
  to: Seconds('Unix seconds; not included.'),
};

export const grainParameter = {
  grain: Type.Optional(Type.Integer({ minimum: 1, description: 'Seconds between points; chosen by the range where it is left out.' })),
};

export const Choice = (choices: readonly string[], byDefault?: string) =>
  Type.Optional(Type.String({ enum: [...choices], ...(byDefault && { default: byDefault }) }));

export const Choices = (choices?: readonly string[]) =>
  Type.Optional(Type.Array(Type.String(choices ? { enum: [...choices] } : {}), { maxItems: valuesMax }));

/** Each filter with its mode. */
export const filterParameters = (names: readonly string[], choices: Readonly<Record<string, readonly string[]>> = {}): TProperties =>
  Object.fromEntries(
    names.flatMap((name): [string, TSchema][] => [
      [name, Choices(choices[name])],
      [`${name}_mode`, Choice(Object.keys(modes))],
    ]),
  );
