/** Hostile parameters, bodies and headers at every operation: each is answered, none with a 5xx. */
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { pathParameters } from './kernel/openapi.ts';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from './test-platform.ts';
import { fill, sampleAddress, sampleBody } from './test-samples.ts';

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
const json = fc.oneof(fc.jsonValue({ maxDepth: 4 }), text, fc.constant({ ['__proto__']: { is_operator: true } }));
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

/** The example with fields replaced by hostile values: deeper than rubbish alone would get. */
const almostRight = (example: unknown) =>
  typeof example === 'object' && example !== null
    ? fc.dictionary(fc.constantFrom(...Object.keys(example), 'extra'), json).map((spoiled) => ({ ...example, ...spoiled }))
    : json;

test.for(operationsOf(rooms))('$endpoint bears hostile input', { timeout: 120_000 }, async (operation) => {
  const { method, path } = operation;
  const names = pathParameters(path);
  const address = await sampleAddress(operation, ada);
  const example = await sampleBody(operation, ada, address);
  const isRead = method === 'GET';
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...names, 'none'), text),
      query,
      headers,
      fc.oneof(almostRight(example), json),
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

/** A lone surrogate cannot be percent-encoded; everything else goes as it is. */
const fillBytes = (path: string, address: Record<string, string>) =>
  fill(path, Object.fromEntries(Object.entries(address).map(([name, value]) => [name, value.toWellFormed()])));
