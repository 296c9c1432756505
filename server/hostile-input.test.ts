/** Hostile parameters, bodies and headers at every operation: each is answered, none with a 5xx. */
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { pathParameters } from './kernel/openapi.ts';
import type { Operation } from './kernel/operation.ts';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from './testing/platform.ts';
import { fill, sampleAddress, sampleBody } from './testing/samples.ts';

const runsPerOperation = 60;

const nasty = fc.constantFrom(
  '',
  ' ',
  '\0',
  '%00',
  '../../etc/passwd',
  "' or 1=1 --",
  '$(id)',
  '; rm -rf /',
  '-rf',
  '\n\rSet-Cookie: a=b',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  '\u202e',
  '\ud800',
  '𝕳',
  '9'.repeat(400),
  '-1',
  '1e309',
  'NaN',
  'null',
  'true',
  '[]',
  '{}',
  '%',
  '%ff',
  'a'.repeat(5000),
  '00000000-0000-4000-8000-000000000000',
);
const text = fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 200 }));
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  text,
  fc.array(text, { maxLength: 4 }),
  fc.dictionary(text, text, { maxKeys: 4 }),
  fc.constant({ ['__proto__']: { is_operator: true } }),
);
/** What the database cannot store, even where a schema accepts anything. It is tried in every field, because chance seldom finds the one that accepts it. */
const unstorable = [
  String.raw`"\ud800"`,
  String.raw`["\ud800"]`,
  String.raw`{"a":"\ud800"}`,
  String.raw`{"\ud800":"a"}`,
  String.raw`{"a":"\u0000"}`,
  `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
];
/** Replaced in the text of a body by a hostile value, which JSON.stringify cannot always write. */
const marker = '-- here --';
const query = fc.dictionary(
  fc.oneof(nasty, fc.constantFrom('page[size]', 'page[after]', 'sort', 'filter[id][in]', 'filter', 'a[b][c][d][e]')),
  text,
  { maxKeys: 4 },
);
const headers = fc.dictionary(
  fc.constantFrom(
    'accept',
    'accept-encoding',
    'content-type',
    'host',
    'x-forwarded-for',
    'x-request-id',
    'range',
    'if-none-match',
    'cookie',
    'origin',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 100 }),
);

let platform: TestPlatform;
let ada: Person;

beforeAll(async () => {
  platform = await openTestPlatform();
  ada = await platform.person({ is_operator: true, strong: true });
});

const fieldsOf = ({ body }: Operation) => (body && 'properties' in body ? Object.keys(body.properties as object) : []);

/** The example with some fields replaced by hostile values, which gets further into the code than rubbish alone. */
const almostRight = (example: unknown, fields: readonly string[]) =>
  typeof example === 'object' && example !== null
    ? fc.dictionary(fc.constantFrom(...Object.keys(example), ...fields, 'extra'), json).map((spoiled) => ({ ...example, ...spoiled }))
    : json;

test.for(operationsOf(rooms))('$endpoint bears hostile input', async (operation) => {
  const { method, path } = operation;
  const names = pathParameters(path);
  const address = await sampleAddress(operation, ada);
  const example = await sampleBody(operation, ada, address);
  const isRead = method === 'GET';
  const fields = fieldsOf(operation);
  for (const field of fields) {
    for (const value of unstorable) {
      const payload = JSON.stringify({ ...(example as object), [field]: marker }).replace(JSON.stringify(marker), () => value);
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${ada.accessToken}` };
      const { status } = await platform.send({ method, url: fill(path, address), headers, payload });
      expect(status, `${method} ${path} ${field}`).toBeLessThan(500);
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...names, 'none'), text),
      query,
      headers,
      fc.oneof(almostRight(example, fields), json),
      async (params, search, sent, body) => {
        const url = `${fillBytes(path, { ...address, ...params })}?${new URLSearchParams(search).toString()}`;
        const { status } = await platform.send({
          method,
          url,
          headers: { 'content-type': 'application/json', ...sent, authorization: `Bearer ${ada.accessToken}` },
          ...(!isRead && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
        });
        expect(status, `${method} ${url} ${JSON.stringify(body)}`).toBeLessThan(500);
      },
    ),
    { numRuns: runsPerOperation },
  );
});

/** A lone surrogate cannot be percent-encoded, so it is replaced; everything else is sent as it is. */
const fillBytes = (path: string, address: Record<string, string>) =>
  fill(path, Object.fromEntries(Object.entries(address).map(([name, value]) => [name, value.toWellFormed()])));
