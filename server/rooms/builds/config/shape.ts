/**
 * Shapes: what the language's tables are made of. A shape reads a node into a value, reports what it does not like, and says what it expects in
 * the words of the message. An object is a table of keys; what it does not know is an error, and what it cannot honour a warning with the reason.
 */
import { quoted, type Report } from './message.ts';
import type { Json } from './model.ts';
import { nearest } from '../../../kernel/nearest.ts';
import { type Entry, isNull, type Node, type ScalarNode } from './node.ts';
import { kindOf } from './yaml-file.ts';

export interface Shape<T> {
  /** Completes "expected …". */
  expected: string;
  /** Undefined: the node has no valid value, which is reported. */
  read(node: Node, reportAt: ReportAt): T | undefined;
  /** Whether null is a value for this shape; otherwise a key without a value counts as absent. */
  takesNothing?: boolean;
}

export type Read<S> = S extends Shape<infer T> ? T : never;

export interface ReportAt {
  path: string;
  report: Report;
}

const below = ({ path, report }: ReportAt, key: string): ReportAt => ({ path: path === '' ? key : `${path}.${key}`, report });

export function unexpected(node: Node, { path, report }: ReportAt, expected: string): undefined {
  report.error(node.at, path, `Found ${kindOf(node)}, expected ${expected}.`);
}

/** A shape of single values: `convert` gives undefined for what it does not take. */
export const scalar = <T>(expected: string, convert: (node: ScalarNode) => T | undefined): Shape<T> => ({
  expected,
  read: (node, reportAt) => (node.kind === 'scalar' ? convert(node) : undefined) ?? unexpected(node, reportAt, expected),
});

const textCharactersMax = 64 * 1024;

export const text = (expected = 'text', isRight: (value: string) => boolean = () => true): Shape<string> =>
  scalar(expected, ({ value }) =>
    typeof value === 'string' && value.length <= textCharactersMax && !value.includes('\0') && isRight(value) ? value : undefined,
  );

/** Text that may look like a number: a version is taken as it is written. */
export const label = (expected = 'text', isRight: (value: string) => boolean = () => true): Shape<string> =>
  scalar(expected, ({ value, text: written }) =>
    value !== null && written.length <= textCharactersMax && !written.includes('\0') && isRight(written) ? written : undefined,
  );

export const flag: Shape<boolean> = scalar('true or false', ({ value }) => (typeof value === 'boolean' ? value : undefined));

export const integer = (min: number, max: number, unit = ''): Shape<number> =>
  scalar(`a whole number from ${min} to ${max}${unit && ` ${unit}`}`, ({ value }) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined,
  );

export const choice = <const T extends string | number>(...values: readonly T[]): Shape<T> => {
  const expected = values.length === 1 ? String(values[0]) : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
  return scalar(expected, ({ value }) => values.find((candidate) => candidate === value));
};

/** Anything that JSON can hold. */
export const json: Shape<Json> = { expected: 'a value', takesNothing: true, read: (node) => jsonOf(node) };

export function jsonOf(node: Node): Json {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(jsonOf);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, jsonOf(entry.node)]));
}

const itemsMax = 1000;

export const list = <T>(item: Shape<T>, expected = `a list of which each is ${item.expected}`): Shape<T[]> => ({
  expected,
  read: (node, reportAt) => {
    if (node.kind !== 'list') return unexpected(node, reportAt, expected);
    if (node.items.length > itemsMax) return unexpected(node, reportAt, `${itemsMax} items at most`);
    return node.items.map((one, index) => item.read(one, below(reportAt, String(index)))).filter((one) => one !== undefined);
  },
});

interface MapRules {
  entriesMax?: number;
  /** What is wrong with a key, as "expected …". */
  wrongKey?: (key: string) => string | undefined;
  /** What to do about a key that begins with a dot, for maps in which nobody would disable a key so on purpose. */
  dots?: string;
}

/** A map whose keys people choose. */
export const mapOf = <T>(
  value: Shape<T>,
  expected: string,
  { entriesMax = itemsMax, wrongKey, dots }: MapRules = {},
): Shape<Record<string, T>> => ({
  expected,
  read: (node, reportAt) => {
    if (node.kind !== 'map') return unexpected(node, reportAt, expected);
    if (node.entries.size > entriesMax) {
      reportAt.report.error(node.at, reportAt.path, `Found ${node.entries.size} entries, expected ${entriesMax} at most.`);
      return undefined;
    }
    if (dots)
      for (const { key, at } of node.dotted)
        reportAt.report.warn(at, below(reportAt, key).path, `A key that begins with a dot is ignored; ${dots}.`);
    const found: [string, T][] = [];
    for (const [key, entry] of node.entries) {
      const wrong = wrongKey?.(key);
      if (wrong !== undefined)
        reportAt.report.error(entry.at, below(reportAt, key).path, `Found the name ${quoted(key)}, expected ${wrong}.`);
      const one = value.read(entry.node, below(reportAt, key));
      if (one !== undefined && wrong === undefined) found.push([key, one]);
    }
    return Object.fromEntries(found);
  },
});

/** A key of an object. Without `otherwise`, the key is required. */
export interface Field<T> {
  shape: Shape<T>;
  otherwise?: () => T;
}

export const required = <T>(shape: Shape<T>): Field<T> => ({ shape });
export const optional = <T>(shape: Shape<T>, otherwise: NoInfer<T>): Field<T> => ({ shape, otherwise: () => structuredClone(otherwise) });
export const orNull = <T>(shape: Shape<T>): Field<T | null> => ({ shape, otherwise: () => null });
/** A key that may be absent; its value is undefined then. */
export const maybe = <T>(shape: Shape<T>): Field<T | undefined> => ({ shape, otherwise: () => undefined });

type Fields = Readonly<Record<string, Field<unknown>>>;
export type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

interface ObjectRules {
  /** Keys that are known and have no effect, with what to say about them. */
  ignored?: Readonly<Record<string, string>>;
}

export const object = <F extends Fields>(fields: F, { ignored = {} }: ObjectRules = {}): Shape<Values<F>> => {
  const expected = `a map with ${Object.keys(fields).join(', ')}`;
  return {
    expected,
    read: (node, reportAt) => {
      if (node.kind !== 'map') return unexpected(node, reportAt, expected);
      for (const [key, { at }] of node.entries)
        if (!Object.hasOwn(fields, key)) complainOf(key, at, reportAt, Object.keys(fields), ignored);
      const values = Object.entries(fields).map(
        ([key, field]) => [key, fieldValue(field, node.entries.get(key), node, below(reportAt, key))] as const,
      );
      // An object that lacks a required key has no value; the mistake has been reported.
      return values.some(([, value]) => value === missing) ? undefined : (Object.fromEntries(values) as Values<F>);
    },
  };
};

const missing = Symbol('missing');

function fieldValue<T>({ shape, otherwise }: Field<T>, entry: Entry | undefined, parent: Node, reportAt: ReportAt): T | typeof missing {
  if (entry && (!isNull(entry.node) || shape.takesNothing)) return shape.read(entry.node, reportAt) ?? (otherwise ? otherwise() : missing);
  if (otherwise) return otherwise();
  reportAt.report.error(entry?.at ?? parent.at, reportAt.path, `Found nothing, expected ${shape.expected}.`);
  return missing;
}

function complainOf(key: string, at: Entry['at'], reportAt: ReportAt, known: readonly string[], ignored: Readonly<Record<string, string>>) {
  const { path } = below(reportAt, key);
  if (Object.hasOwn(ignored, key)) reportAt.report.warn(at, path, `${quoted(key)} is ignored: ${ignored[key]}.`);
  else reportAt.report.error(at, path, unknownKey(key, known));
}

/** An unknown key is an error: whoever mistypes a key wants its effect, and going on without it would deploy something else. */
export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  const guess = meant === undefined ? '' : ` (did you mean ${quoted(meant)}?)`;
  return `Found the unknown key ${quoted(key)}${guess}, expected one of ${known.join(', ')}.`;
}

/** A short way to write the same, tried first where the node is a single value or empty. */
export const shorthand = <T>(short: Shape<T>, long: Shape<T>): Shape<T> => ({
  expected: `${short.expected}, or ${long.expected}`,
  takesNothing: short.takesNothing ?? false,
  read: (node, reportAt) => (node.kind === 'scalar' ? short.read(node, reportAt) : long.read(node, reportAt)),
});

/** Checks or converts a value that was read. Undefined: the value is wrong after all, which is reported. */
export const refined = <A, B>(shape: Shape<A>, work: (value: A, reportAt: ReportAt, node: Node) => B | undefined): Shape<B> => ({
  ...shape,
  read: (node, reportAt) => {
    const value = shape.read(node, reportAt);
    return value === undefined ? undefined : work(value, reportAt, node);
  },
});
