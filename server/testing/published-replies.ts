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
  { of: ['Deployment', 'webapps', '*', 'hooks'], field: 'sanitize', allows: textOrNull, because: 'A hook that only Offshoot has.' },
];

const published = JSON.parse(readFileSync(new URL('published-schemas.json', import.meta.url), 'utf8')) as Published;
for (const deviation of deviations) admit(deviation);

function admit({ of: [start = '', ...way], field, allows }: Deviation) {
  const at = way.reduce(inside, published.replies[start] ?? published.$defs[start]);
  if (!at) throw new Error(`There is no published ${start} ${way.join(' ')}`);
  const known = inside(at, field);
  const admitted = known ? { anyOf: [known, allows] } : allows;
  if (field === '*') at.additionalProperties = admitted;
  else at.properties = { ...at.properties, [field]: admitted };
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
export function mismatchesWithPublished(path: string, reply: unknown): string[] {
  const validate = ajv.getSchema(path) ?? ajv.addSchema({ ...published.replies[path], $defs: published.$defs }, path).getSchema(path);
  if (!validate) throw new Error(`No published schema for ${path}`);
  if (validate(reply)) return [];
  const errors = (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
  return errors.slice(0, mismatchesMax);
}
