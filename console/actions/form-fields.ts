/** Fields of a form, read from the schema that a link carries: texts, numbers, choices, boxes and lists, also inside objects. What cannot be typed in a form is left out. */
import type { Schema } from '../api/link.ts';
import { fieldLooks, type FieldLook } from './deeds.ts';

export interface FormField {
  /** Its place in the body, such as `resources.init`. */
  path: string;
  /** `lines` is a list of texts, one on each line; `pairs` are names with values, likewise; `several` is a list of choices. */
  kind: 'text' | 'long text' | 'prose' | 'secret' | 'long secret' | 'number' | 'choice' | 'several' | 'box' | 'lines' | 'pairs';
  label: string;
  hint: string | undefined;
  isRequired: boolean;
  /** Whether it may be left to the API what it holds. */
  isLeftToApi: boolean;
  isNullable: boolean;
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

interface Around {
  path: string;
  isRequired: boolean;
}

/** `current` is what the fields hold now, where something is changed. */
export function fieldsOf(
  schema: Schema,
  current: Readonly<Record<string, unknown>> = {},
  around: Around = { path: '', isRequired: true },
): FormField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${around.path}${name}`;
    const isRequired = around.isRequired && (schema.required?.includes(name) ?? false);
    if (property.properties) return fieldsOf(property, current, { path: `${path}.`, isRequired });
    const kind = kindShown(kindOf(property), fieldLooks[path]);
    return kind === undefined ? [] : [fieldOf(path, kind, property, isRequired, valueAt(current, path))];
  });
}

function kindShown(kind: FormField['kind'] | undefined, look: FieldLook | undefined): FormField['kind'] | undefined {
  if (look?.isSecret) return 'secret';
  return kind === 'long text' && look?.isProse ? 'prose' : kind;
}

function kindOf(schema: Schema): FormField['kind'] | undefined {
  const { enum: choices, items, additionalProperties } = schema;
  const types = typesOf(schema);
  if (choices) return 'choice';
  if (types.has('boolean')) return 'box';
  if (types.has('string')) return kindOfText(schema);
  if (types.has('array') && items?.enum && items.enum.length <= boxesMax) return 'several';
  if (types.has('array')) return items?.type === 'string' ? 'lines' : undefined;
  if (types.has('object')) return typeof additionalProperties === 'object' && additionalProperties.type === 'string' ? 'pairs' : undefined;
  return types.has('integer') || types.has('number') ? 'number' : undefined;
}

/** Tokens may be long, and are one line all the same; what has lines of its own says what it is. */
function kindOfText({ maxLength = 0, format, contentMediaType }: Schema): FormField['kind'] {
  if (format === 'password') return contentMediaType === undefined ? 'secret' : 'long secret';
  return maxLength > lineCharactersMax ? 'long text' : 'text';
}

const typesOf = ({ type }: Schema) => new Set([type ?? []].flat());

/** What is inside an object may be given by its path, or as the object is. */
function valueAt(current: Readonly<Record<string, unknown>>, path: string): unknown {
  if (path in current) return current[path];
  let value: unknown = current;
  for (const name of path.split('.'))
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return value;
}

function fieldOf(path: string, kind: FormField['kind'], property: Schema, isRequired: boolean, current: unknown): FormField {
  const look = fieldLooks[path];
  const usual = property.default ?? property['x-usual'];
  return {
    path,
    kind,
    label: look?.label ?? labelOf(path),
    hint: look?.hint ?? property.description,
    isRequired: isRequired || (look?.isRequired ?? false),
    isLeftToApi: !isRequired && !look?.isRequired && (usual ?? undefined) === undefined,
    isNullable: typesOf(property).has('null'),
    choices: choicesOf(property, look?.leavesOut),
    words: look?.words ?? {},
    initial: initialOf(kind, current ?? usual ?? look?.isChecked),
    charactersMax: property.maxLength,
    isCard: look?.isCard ?? false,
  };
}

function choicesOf({ enum: own, items }: Schema, leavesOut: readonly string[] = []): string[] {
  const known = (own ?? items?.enum ?? []).filter((choice) => choice !== null).map(String);
  return known.filter((choice) => !leavesOut.includes(choice));
}

/** Such as "App credentials: key". */
function labelOf(path: string): string {
  const words = path.split('.').join(': ').replaceAll('_', ' ');
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

function initialOf(kind: FormField['kind'], value: unknown): string | boolean {
  if (kind === 'box') return value === true;
  if (Array.isArray(value)) return value.join('\n');
  if (kind === 'pairs')
    return Object.entries(value ?? {})
      .map((pair) => pair.join(': '))
      .join('\n');
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/**
 * The body to send: what was left empty is left out, so that the API decides; but what was there and was emptied is sent. An object of which one part is
 * changed is sent with all its parts, because the API takes it as a whole.
 */
export function bodyOf(fields: readonly FormField[], form: FormData, isChange = false): Record<string, unknown> {
  const typed = new Map(fields.map((field) => [field.path, typedIn(field, form)]));
  const isTouched = ({ path, initial }: FormField) => typed.get(path) !== undefined && typed.get(path) !== initial;
  const touched = new Set(fields.filter(isTouched).map(({ path }) => objectOf(path)));
  const isSent = (field: FormField, given: string | boolean) => {
    // Of a list that has to be given, nothing chosen is an answer.
    if (!isChange) return given !== '' || (field.kind === 'several' && field.isRequired);
    return isTouched(field) || (field.path.includes('.') && given !== '' && touched.has(objectOf(field.path)));
  };
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const given = typed.get(field.path);
    if (given === undefined || !isSent(field, given)) continue;
    const value = valueOf(field, given);
    if (value !== undefined) put(body, field.path.split('.'), value);
  }
  return body;
}

const objectOf = (path: string) => path.split('.').slice(0, -1).join('.');

/** What stands in a field of the form; undefined where the form has no such field. */
function typedIn({ path, kind }: FormField, form: FormData): string | boolean | undefined {
  if (kind === 'box') return form.get(path) !== null;
  if (kind === 'several') return form.getAll(path).map(String).join('\n');
  const given = form.get(path);
  return typeof given === 'string' ? given.replaceAll('\r\n', '\n') : undefined;
}

/** The body of a form that nobody has touched. */
export function untouched(fields: readonly FormField[], isChange = false): Record<string, unknown> {
  const form = new FormData();
  for (const { path, kind, initial } of fields) {
    if (kind === 'several') for (const choice of linesOf(String(initial))) form.append(path, choice);
    else if (kind !== 'box' || initial === true) form.set(path, String(initial));
  }
  return bodyOf(fields, form, isChange);
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

function valueOf({ kind, isNullable }: FormField, given: string | boolean): unknown {
  if (typeof given !== 'string') return given;
  if (kind === 'lines' || kind === 'several') return linesOf(given);
  if (kind === 'pairs') return Object.fromEntries(linesOf(given).map(pairIn));
  if (given === '' && isNullable) return null;
  if (kind === 'number') return given === '' ? undefined : Number(given);
  return given;
}

function pairIn(line: string): [name: string, value: string] {
  const [name = '', ...value] = line.split(':');
  return [name.trim(), value.join(':').trim()];
}

function put(body: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown) {
  if (rest.length === 0) body[name] = value;
  else put((body[name] ??= {}) as Record<string, unknown>, rest, value);
}

/** What the API refuses, by the field it is about: what it says of an item of a list, or of an object as a whole, is said beside the field that has it. */
export function refusalsBy(fields: readonly FormField[], refused: Readonly<Record<string, string>>) {
  const byPath = new Map<string, string>();
  let isAllShown = true;
  for (const [name, sentence] of Object.entries(refused)) {
    const field =
      fields.find(({ path }) => path === name) ??
      fields.find(({ path }) => name.startsWith(`${path}.`)) ??
      fields.find(({ path }) => path.startsWith(`${name}.`));
    if (field && !byPath.has(field.path)) byPath.set(field.path, sentence);
    isAllShown &&= field !== undefined;
  }
  return { byPath, isAllShown: isAllShown && byPath.size > 0 };
}
