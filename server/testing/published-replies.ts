/**
 * Holds replies to the published schemas of the API. The facts are in testing/published-schemas.json, kept by testing/keep-published-schemas.ts; what
 * differs on purpose stands in `deviations`, each with its reason.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  [keyword: string]: unknown;
}

interface Published {
  /** The schema of the reply at each path. */
  replies: Record<string, Schema>;
  $defs: Record<string, Schema>;
}

interface Deviation {
  /** A definition or a path, and the way down from there; `*` is any name. */
  of: readonly string[];
  field: string;
  /** What the field may be beside what is published; a field that is not published may be nothing else. */
  allows: Schema;
  because: string;
}

const requiredOfEverybody = 'Required of everybody, and not everybody has one. Typed clients can read an empty text, but not null.';
const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const routeKinds = ['UpstreamRoute', 'RedirectRoute', 'ProxyRoute'];

const deviations: Deviation[] = [
  ...['picture', 'website', 'country'].map((field) => ({ of: ['User'], field, allows: { const: '' }, because: requiredOfEverybody })),
  { of: ['Address'], field: 'administrative_area', allows: text, because: 'Most provinces of the world have no code of two letters.' },
  { of: ['Order'], field: 'total_formatted', allows: text, because: 'Declared as a whole number, which no formatted amount is.' },
  { of: ['/users/{user_id}/totp'], field: 'qr_code', allows: text, because: 'Clients show it as a picture: it is a data URI.' },
  { of: ['/ref/teams'], field: '*', allows: { type: 'null' }, because: 'What is gone is null, as the other references have it.' },
  { of: ['ProjectReference'], field: 'vendor', allows: text, because: 'The released CLI hides projects without it.' },
  ...routeKinds.map((kind) => ({ of: [kind], field: 'original_url', allows: text, because: 'The released CLI shows routes by it.' })),
  ...['ProdDomainStorage', 'ReplacementDomainStorage'].map((kind) => ({
    of: [kind],
    field: 'ssl',
    allows: {
      type: 'object',
      properties: { has_certificate: { type: 'boolean' }, expires_on: text, trouble: text },
      additionalProperties: false,
    },
    because: 'The released CLI shows by it whether a domain has a certificate; people have to see why one has none.',
  })),
  { of: ['Environment'], field: 'sleeping_since', allows: textOrNull, because: 'People have to see why nothing runs.' },
  { of: ['Environment'], field: 'start_failure', allows: textOrNull, because: 'People have to see why nothing runs.' },
  ...['data_taken_from', 'data_taken_at'].map((field) => ({
    of: ['Environment'],
    field,
    allows: textOrNull,
    because: 'People have to see how old the data is that they work with.',
  })),
  {
    of: ['Backup'],
    field: 'is_damaged',
    allows: { type: 'boolean' },
    because: 'People have to tell one that is not finished from one that is lost.',
  },
  {
    of: ['ProjectCapabilities', 'images', '*', '*'],
    field: 'status',
    allows: { enum: ['supported', 'deprecated', 'retired'] },
    because: 'People have to see which versions to leave before they are refused.',
  },
  {
    of: ['ProjectCapabilities', 'images', '*', '*'],
    field: 'tried',
    allows: { type: 'boolean' },
    because: 'People have to see what nobody has run here before they rely on it.',
  },
  { of: ['EnvironmentVariable'], field: 'inherited_from', allows: textOrNull, because: 'People have to see where a value comes from.' },
  {
    of: ['AutoscalerSettings', 'services', '*'],
    field: 'enabled',
    allows: { type: 'boolean' },
    because: 'The released CLI tells by it whether somebody else may choose the number of instances.',
  },
  ...['HttpLog', 'NewRelic', 'OtlpLog', 'Splunk', 'Sumologic', 'Syslog'].map((receiver) => ({
    of: [`${receiver}Integration`],
    field: 'redaction',
    allows: { type: 'boolean' },
    because: 'The released CLI offers it, and people have to see what is set.',
  })),
  {
    of: ['ProjectCapabilities', 'integrations', 'config'],
    field: 'gitea',
    allows: { type: 'object' },
    because: 'A host of code that only Offshoot has.',
  },
  { of: ['Deployment', 'webapps', '*', 'hooks'], field: 'sanitize', allows: textOrNull, because: 'A hook that only Offshoot has.' },
];

const published = JSON.parse(readFileSync(new URL('published-schemas.json', import.meta.url), 'utf8')) as Published;
for (const deviation of deviations) admit(deviation);
for (const schema of [...Object.values(published.replies), ...Object.values(published.$defs)]) admitReasons(schema);

function admit({ of: [start = '', ...way], field, allows }: Deviation) {
  const at = way.reduce(inside, published.replies[start] ?? published.$defs[start]);
  if (!at) throw new Error(`There is no published ${start} ${way.join(' ')}`);
  const known = inside(at, field);
  const admitted = known ? { anyOf: [known, allows] } : allows;
  if (field === '*') at.additionalProperties = admitted;
  else at.properties = { ...at.properties, [field]: admitted };
}

/** Whatever has links also says which actions are not among them just now. */
function admitReasons(schema: Schema) {
  if (schema.properties && '_links' in schema.properties)
    schema.properties = { ...schema.properties, _not_now: { type: 'object', additionalProperties: text } };
}

function inside(schema: Schema | undefined, name: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  return name !== '*' ? properties?.[name] : typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addFormat('ISO ALPHA-2', /^[A-Z]{2}$/);
ajv.addFormat('ulid', /^[0-9A-HJKMNP-TV-Z]{26}$/);
ajv.addFormat('url', (address) => URL.canParse(address));

export const publishedPaths = Object.keys(published.replies);
export const isPublished = (path: string) => Object.hasOwn(published.replies, path);

const mismatchesMax = 20;

/** What of a GET reply is not as published. */
export const mismatchesWithPublished = (path: string, reply: unknown): string[] => mismatches(path, published.replies[path], reply);

/** What of a thing is not as the published definition of that name has it. */
export const mismatchesWithDefinition = (name: string, thing: unknown): string[] =>
  mismatches(`definition of ${name}`, published.$defs[name], thing);

function mismatches(key: string, schema: Schema | undefined, reply: unknown): string[] {
  const validate = ajv.getSchema(key) ?? ajv.addSchema({ ...schema, $defs: published.$defs }, key).getSchema(key);
  if (!validate || !schema) throw new Error(`No published schema for ${key}`);
  if (validate(reply)) return [];
  const errors = (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
  return errors.slice(0, mismatchesMax);
}
