/**
 * What a variable is, at either level: its fields, what they may hold, and how a change meets what is stored. The value of a sensitive one is
 * kept sealed and leaves only through effective-variables.ts; no failure here quotes a value, because failures are logged.
 */
import { Type, type Static } from 'typebox';
import { invalidField } from '../../kernel/problem.ts';
import { Time } from '../../kernel/schema.ts';
import type { Secrets } from '../../kernel/secrets.ts';

const nameCharactersMax = 256;
const valueBytesMax = 64 * 1024;
const applicationsMax = 100;
const attributesMax = 50;

/** A name is part of a URL, where `.` and `..` would be resolved away. Names after `env:` become variables of a shell. */
const namePattern = String.raw`^(env:[A-Za-z][A-Za-z0-9_]*|(?!env:|\.{1,2}$)[^\p{C}\p{Z}]+)$`;

export const VariableName = Type.String({
  minLength: 1,
  maxLength: nameCharactersMax,
  pattern: namePattern,
  'x-message':
    'must have neither spaces nor control characters, and after env: only letters, digits and underscores, beginning with a letter',
});

/** The name in a URL: one that could not exist is simply not found. */
export const VariableId = Type.String({ minLength: 1, maxLength: nameCharactersMax });

const Value = Type.String({ maxLength: valueBytesMax, description: 'At most 64 KiB. Never shown of a sensitive variable.' });

const Attributes = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: attributesMax,
  propertyNames: { minLength: 1, maxLength: 100 },
  additionalProperties: { type: 'string', maxLength: 1000 },
});

const ApplicationName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: String.raw`^[^\p{C}\p{Z}]+$`,
  'x-message': 'must be the name of an application',
});

const settings = {
  attributes: Attributes,
  is_json: Type.Boolean({ description: 'Whether the value is JSON; it is checked.' }),
  is_sensitive: Type.Boolean({ description: 'Kept encrypted and never shown. Cannot be unset.' }),
  visible_build: Type.Boolean({ description: 'Whether builds see it.' }),
  visible_runtime: Type.Boolean({ description: 'Whether running applications see it.' }),
  application_scope: Type.Array(ApplicationName, { maxItems: applicationsMax, description: 'The applications that see it; none: all.' }),
};

/** What is sent to create or change a variable. To create one, a name and a value are required; to change one, nothing is. */
export const variableInput = Type.Partial(Type.Object({ name: VariableName, value: Value, ...settings })).properties;

export const variableFields = {
  id: Type.String(),
  name: Type.String(),
  value: Type.Optional(
    Type.String({ description: 'Absent where it is sensitive, or inherited from an environment that the caller may not see.' }),
  ),
  ...settings,
  application_scope: Type.Array(Type.String()),
  attributes: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
  created_at: Time,
  updated_at: Time,
};

export const nameAndValue = { name: VariableName, value: Value };

const ChangeSchema = Type.Object(variableInput);
export type Change = Static<typeof ChangeSchema>;

/** A variable as the database keeps it. */
export interface Stored {
  project_id: string;
  name: string;
  value: string | null;
  value_sealed: string | null;
  is_json: boolean;
  is_sensitive: boolean;
  visible_build: boolean;
  visible_runtime: boolean;
  application_scope: string[];
  attributes: unknown;
}

/** A sealed value opens only in its project and under its name. The environment is left out: branches are renamed, and children take values over. */
const purpose = (projectId: string, name: string) => `variable ${projectId} ${name}`;

export const openedValue = (secrets: Secrets, { project_id, name, value, value_sealed }: Stored): string =>
  value_sealed === null ? (value ?? '') : secrets.open(purpose(project_id, name), value_sealed);

/** The columns of a new variable. */
export function columnsOf<New extends Change & { name: string; value: string }>(
  secrets: Secrets,
  projectId: string,
  { value, ...given }: New,
) {
  checkName(given.name);
  checkValue(value, given.is_json ?? false);
  return { project_id: projectId, ...given, ...valueColumns(secrets, projectId, given.name, value, given.is_sensitive ?? false) };
}

/** The columns of a stored variable after a change: what was not given stays as it was. */
export function amendedColumns(secrets: Secrets, stored: Stored, change: Change): Stored {
  if (stored.is_sensitive && change.is_sensitive === false) {
    throw invalidField('is_sensitive', 'cannot be unset; delete the variable and create it anew with a value that may be seen');
  }
  const { project_id, name, is_json, is_sensitive, visible_build, visible_runtime, application_scope, attributes } = stored;
  const { value: given, ...others } = change;
  const amended = { project_id, name, is_json, is_sensitive, visible_build, visible_runtime, application_scope, attributes, ...others };
  const value = given ?? openedValue(secrets, stored);
  checkName(amended.name);
  checkValue(value, amended.is_json);
  return { ...amended, ...valueColumns(secrets, project_id, amended.name, value, amended.is_sensitive) };
}

/** The schema counts characters, and the router counts UTF-16 units: a name that the router would refuse must not exist. */
function checkName(name: string) {
  if (name.length > nameCharactersMax)
    throw invalidField('name', `must be at most ${nameCharactersMax} characters, pictographs counting twice`);
}

function checkValue(value: string, isJson: boolean) {
  if (Buffer.byteLength(value) > valueBytesMax) throw invalidField('value', `must be at most ${valueBytesMax / 1024} KiB`);
  if (isJson && !isJsonText(value)) throw invalidField('value', 'is not valid JSON; send JSON, or is_json: false');
}

function isJsonText(text: string) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const valueColumns = (secrets: Secrets, projectId: string, name: string, value: string, isSensitive: boolean) =>
  isSensitive ? { value: null, value_sealed: secrets.seal(purpose(projectId, name), value) } : { value, value_sealed: null };

/** A variable as the API shows it, without the columns that only the database has. */
export const shown = <Row extends Stored>({ value, value_sealed, ...row }: Row) => ({
  ...row,
  id: row.name,
  ...(value_sealed === null && value !== null && { value }),
});
