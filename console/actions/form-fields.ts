/** Fields of a form, read from the schema that a link carries: texts, numbers, choices, boxes and lists, also inside objects. What cannot be typed in a form is left out. */
import type { Schema } from '../api/link.ts';
import { fieldLooks } from './deeds.ts';

export interface FormField {
  /** Its place in the body, such as `resources.init`. */
  path: string;
  /** `lines` is a list of texts, one on each line; `boxes` is one of texts that are known, each with a box; a `secret` is not shown as it is typed. */
  kind: 'text' | 'long text' | 'secret' | 'number' | 'choice' | 'box' | 'boxes' | 'lines';
  label: string;
  hint: string | undefined;
  isRequired: boolean;
  choices: readonly string[];
  /** What a choice is called, where it is called something else than what is sent. */
  words: Readonly<Record<string, string>>;
  initial: string | boolean;
  charactersMax: number | undefined;
  isCard: boolean;
}

/** Texts that may be longer than this have more than one line. */
const lineCharactersMax = 2000;
/** As many boxes are read at a glance; longer lists are typed. */
const boxesMax = 12;

/** `current` is what the fields hold now, where something is changed. */
export function fieldsOf(schema: Schema, current: Readonly<Record<string, unknown>> = {}, within = ''): FormField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${within}${name}`;
    if (property.properties) return fieldsOf(property, current, `${path}.`);
    const kind = fieldLooks[path]?.isSecret ? 'secret' : kindOf(property);
    return kind === undefined ? [] : [fieldOf(path, kind, property, schema.required?.includes(name) ?? false, current[path])];
  });
}

function kindOf({ type, enum: choices, maxLength = 0, items }: Schema): FormField['kind'] | undefined {
  const types = new Set([type ?? []].flat());
  if (choices) return 'choice';
  if (types.has('boolean')) return 'box';
  if (types.has('string')) return maxLength > lineCharactersMax ? 'long text' : 'text';
  if (types.has('array') && items?.type === 'string') return items.enum && items.enum.length <= boxesMax ? 'boxes' : 'lines';
  return types.has('integer') || types.has('number') ? 'number' : undefined;
}

function fieldOf(path: string, kind: FormField['kind'], property: Schema, isRequired: boolean, current: unknown): FormField {
  const look = fieldLooks[path];
  const name = path.split('.').at(-1) ?? path;
  return {
    path,
    kind,
    label: look?.label ?? `${name[0]?.toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`,
    hint: look?.hint ?? property.description,
    isRequired: isRequired || (look?.isRequired ?? false),
    choices: choicesOf(property, look?.leavesOut),
    words: look?.words ?? {},
    initial: initialOf(kind, current ?? property.default ?? look?.isChecked),
    charactersMax: property.maxLength,
    isCard: look?.isCard ?? false,
  };
}

function choicesOf({ enum: own, items }: Schema, leavesOut: readonly string[] = []): string[] {
  const known = (own ?? items?.enum ?? []).filter((choice) => choice !== null).map(String);
  return known.filter((choice) => !leavesOut.includes(choice));
}

function initialOf(kind: FormField['kind'], value: unknown): string | boolean {
  if (kind === 'box') return value === true;
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The body to send: what was left empty is left out, so that the API decides; but what was there and was emptied is sent. */
export function bodyOf(fields: readonly FormField[], form: FormData, isChange = false): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { path, kind, initial, isRequired } of fields) {
    const given = givenIn(form, path, kind);
    if (given === null || (isChange ? given === initial : given === '' && !(kind === 'boxes' && isRequired))) continue;
    put(body, path.split('.'), valueOf(kind, given));
  }
  return body;
}

function givenIn(form: FormData, path: string, kind: FormField['kind']): FormDataEntryValue | boolean | null {
  if (kind === 'box') return form.get(path) !== null;
  return kind === 'boxes'
    ? form
        .getAll(path)
        .filter((each) => typeof each === 'string')
        .join('\n')
    : form.get(path);
}

/** The body of a form that nobody has touched. */
export function untouched(fields: readonly FormField[], isChange = false): Record<string, unknown> {
  const form = new FormData();
  for (const { path, kind, initial } of fields) if (kind !== 'box' || initial === true) form.set(path, String(initial));
  return bodyOf(fields, form, isChange);
}

function valueOf(kind: FormField['kind'], given: FormDataEntryValue | boolean): unknown {
  if (typeof given !== 'string') return given;
  if (kind === 'number') return Number(given);
  const text = given.replaceAll('\r\n', '\n');
  return kind === 'lines' || kind === 'boxes' ? text.split('\n').filter((line) => line !== '') : text;
}

function put(body: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown) {
  if (rest.length === 0) body[name] = value;
  else put((body[name] ??= {}) as Record<string, unknown>, rest, value);
}
