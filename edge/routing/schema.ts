/**
 * Where JSON from outside becomes values: what does not fit is refused with every bad field by name. Written out by hand, as the edge should be there
 * again in a moment after a crash: to load a library and compile its schemas takes longer than all else it does to start.
 */

/** Notes what is wrong with the value, under `at`: the path to where the value stands. */
export type Check = (value: unknown, at: string, flaws: Flaws) => void;
type Flaws = Record<string, string>;
/** A value in which the check finds no flaw is a T. */
export interface CheckOf<T> extends Check {
  readonly of?: T;
}

/** `fields` says what is wrong with each. */
export class Refused extends Error {
  readonly fields: Flaws;

  constructor(flaws: Flaws) {
    super(
      Object.entries(flaws)
        .map(([field, flaw]) => `${field} ${flaw}.`)
        .join(' '),
    );
    this.fields = flaws;
  }
}

const flawsMax = 20;

/** `whole` is what it is called where no field is to blame. */
export const parserOf =
  <T>(check: CheckOf<T>, whole: string) =>
  (value: unknown): T => {
    const flaws: Flaws = {};
    check(value, '', flaws);
    const found = Object.entries(flaws).slice(0, flawsMax);
    if (found.length > 0) throw new Refused(Object.fromEntries(found.map(([field, flaw]) => [field || whole, flaw])));
    return value as T;
  };

const below = (at: string, name: string | number) => (at === '' ? String(name) : `${at}.${name}`);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const simple =
  (fits: (value: unknown) => boolean, flaw: string): Check =>
  (value, at, flaws) => {
    if (!fits(value)) flaws[at] = flaw;
  };

/** An object with exactly these fields. */
export const fields = <T extends object>(checks: { [K in keyof T]-?: Check }): CheckOf<T> => objectOf(checks, Object.keys(checks));
/** An object with these fields, of which some may be missing: an older version did not write them. */
export const fieldsBut = <T extends object>(checks: { [K in keyof T]-?: Check }, missing: readonly (keyof T & string)[]): CheckOf<T> =>
  objectOf(
    checks,
    Object.keys(checks).filter((name) => !missing.some((it) => it === name)),
  );
/** An object with any of these fields, and no other. */
export const someFields = <T extends object>(checks: { [K in keyof T]-?: Check }): CheckOf<T> => objectOf(checks, []);

function objectOf(checks: Record<string, Check>, required: string[]): Check {
  return (value, at, flaws) => {
    if (!isObject(value)) {
      flaws[at] = 'must be an object';
      return;
    }
    for (const name of required) if (!Object.hasOwn(value, name)) flaws[below(at, name)] = 'is required';
    for (const [name, part] of Object.entries(value)) {
      if (Object.hasOwn(checks, name)) checks[name]?.(part, below(at, name), flaws);
      else flaws[below(at, name)] = 'is not a known field';
    }
  };
}

/** One of these kinds of object; one of its fields says which. */
export const kinds =
  (field: string, checks: Record<string, Check>): Check =>
  (value, at, flaws) => {
    const kind = isObject(value) ? value[field] : undefined;
    const check = typeof kind === 'string' && Object.hasOwn(checks, kind) ? checks[kind] : undefined;
    if (check) check(value, at, flaws);
    else flaws[below(at, field)] = `must be one of ${Object.keys(checks).join(', ')}`;
  };

/** Checks with the second where the value has that field, otherwise with the first. */
export const either =
  (otherwise: Check, field: string, having: Check): Check =>
  (value, at, flaws) =>
    (isObject(value) && Object.hasOwn(value, field) ? having : otherwise)(value, at, flaws);

export const byName =
  (name: Check, item: Check, itemsMax: number): Check =>
  (value, at, flaws) => {
    if (!isObject(value)) flaws[at] = 'must be an object';
    else if (Object.keys(value).length > itemsMax) flaws[at] = `must have ${itemsMax} fields at most`;
    else {
      for (const [key, part] of Object.entries(value)) {
        name(key, below(at, key), flaws);
        item(part, below(at, key), flaws);
      }
    }
  };

export const list =
  (item: Check, itemsMax: number): Check =>
  (value, at, flaws) => {
    if (!Array.isArray(value)) flaws[at] = 'must be a list';
    else if (value.length > itemsMax) flaws[at] = `must have ${itemsMax} items at most`;
    else for (const [index, part] of value.entries()) item(part, below(at, index), flaws);
  };

export const text = (charactersMax: number): Check =>
  simple((value) => typeof value === 'string' && value.length <= charactersMax, `must be text of ${charactersMax} characters at most`);

/** `shape` says in words what the pattern asks for. */
export const textLike = (pattern: RegExp, charactersMax: number, shape: string): Check =>
  simple((value) => typeof value === 'string' && value.length <= charactersMax && pattern.test(value), `must be ${shape}`);

export const oneOf = (...values: (string | number)[]): Check =>
  simple((value) => values.some((known) => known === value), `must be one of ${values.join(', ')}`);
export const wholeNumber = (least: number, most: number): Check =>
  simple(
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
    `must be a whole number from ${least} to ${most}`,
  );
export const number = (least: number, most: number): Check =>
  simple((value) => typeof value === 'number' && value >= least && value <= most, `must be a number from ${least} to ${most}`);
export const flag: Check = simple((value) => typeof value === 'boolean', 'must be true or false');
export const orNull =
  (check: Check): Check =>
  (value, at, flaws) =>
    value === null || check(value, at, flaws);
export const flagOr =
  (check: Check): Check =>
  (value, at, flaws) =>
    typeof value === 'boolean' || check(value, at, flaws);
