/** Whatever is in the files: an outcome with a place for each error, never an exception, and not for long. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { imagesOf } from './images.ts';
import { catalogue } from '../../../catalogue/catalogue.ts';
import { application } from './language/application.ts';
import { printMessages } from './message.ts';
import { read, readText } from './test-trees.ts';

/** Of a processor, whoever else uses it meanwhile. */
const patienceSeconds = 20;
const timeout = 600_000;

async function patiently<T>(work: () => Promise<T>, secondsMax = patienceSeconds): Promise<T> {
  const before = process.cpuUsage();
  const done = await work();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000_000).toBeLessThan(secondsMax);
  return done;
}

const bomb = [
  'a0: &a0 [x, x, x, x, x, x, x, x, x, x]',
  ...Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array.from({ length: 10 }, () => `*a${n}`).join(', ')}]`),
];
const mergeBomb = [
  `.a: &a {${Array.from({ length: 5000 }, (_, n) => `k${n}: 1`).join(', ')}}`,
  'applications:',
  ...Array.from({ length: 5000 }, (_, n) => `  a${n}: {<<: *a}`),
];

test.for<[string, string]>([
  ['a billion laughs', `${bomb.join('\n')}\napplications: *a30`],
  ['a billion merges', mergeBomb.join('\n')],
  ['an alias of what it is in', 'applications: &a {app: *a}'],
  ['deep lists', `applications: ${'['.repeat(50_000)}`],
  ['deep lists that end', `applications: ${'['.repeat(2000)}${']'.repeat(2000)}`],
  ['deep maps', `applications:\n${Array.from({ length: 300 }, (_, n) => `${' '.repeat(n + 1)}a:`).join('\n')}`],
  ['a huge key', `applications: {? "${'x'.repeat(100_000)}" : 1}`],
  ['keys that are maps', 'applications: {? {a: 1} : {type: x}, ? [1] : 2}'],
  ['too many bytes', `applications: {} # ${'x'.repeat(3 * 2 ** 20)}`],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x00]).toString('latin1')],
  ['control characters', 'applications: "\u0007\u001b[31m"'],
  ['many documents', '---\napplications: {}\n'.repeat(1000)],
  ['numbers without end', 'applications: {app: {type: .inf, timeout: -.nan, disk: 99999999999999999999}}'],
  [
    'names of JavaScript',
    'applications: {__proto__: {type: "nodejs:22"}, constructor: {relationships: {constructor: , toString: __proto__}}}',
  ],
  ['other schemas', 'applications: !!binary aGk=\nservices: !!set {a}\nroutes: !!js/function "x"'],
  ['a thousand applications', `applications: {${Array.from({ length: 1000 }, (_, n) => `a${n}: {type: "nodejs:22"}`).join(', ')}}`],
])('%s give errors that can be printed', { timeout }, async ([, yaml]) => {
  const outcome = await patiently(() => readText(yaml));
  expect(outcome.errors?.length).toBeGreaterThan(0);
  for (const { file, line, column, message } of outcome.errors ?? []) {
    expect(file).toBe('.upsun/config.yaml');
    expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
    expect(message).toMatch(/\.$/);
  }
  // oxlint-disable-next-line no-control-regex -- a terminal obeys them
  expect(printMessages(outcome)).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

test('files that include each other, much, or deeply, come to an end', { timeout }, async () => {
  const chain = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`.upsun/sub/${n}.yaml`, `!include sub/${n + 1}.yaml`]));
  const { errors } = await read({ '.upsun/config.yaml': 'services: !include sub/0.yaml', ...chain });
  expect(errors?.[0]?.message).toMatch(/nested more than 8 deep/);
  const fan = `[${'!include {path: big.txt, type: string}, '.repeat(600)}]`;
  const many = await read({ '.upsun/config.yaml': `services: ${fan}`, '.upsun/big.txt': 'x'.repeat(2 ** 20) });
  expect(many.errors?.map(({ message }) => message)).toContain('Found more than 8388608 bytes in files that are included, expected fewer.');
});

test('fifty thousand redirects are fine', { timeout }, async () => {
  const paths = Array.from({ length: 50_000 }, (_, n) => `        /o/${n}: {to: /n/${n}}`).join('\n');
  const yaml = `applications: {app: {type: "static:1"}}
routes:
  https://{default}/:
    type: upstream
    upstream: app:http
    redirects:
      paths:
${paths}`;
  const { model } = await patiently(() => readText(yaml), 3 * patienceSeconds);
  const [route] = Object.values(model?.routes ?? {});
  expect(Object.keys(route?.type === 'upstream' ? route.redirects.paths : {})).toHaveLength(50_000);
});

test('more entries than anybody needs are refused before they are read', async () => {
  const hosts = Array.from({ length: 1001 }, (_, n) => `h${n}: 10.0.0.1`).join(', ');
  const { errors } = await readText(`applications: {app: {type: "static:1", additional_hosts: {${hosts}}}}`);
  expect(errors?.map(({ message }) => message)).toEqual(['Found 1001 entries, expected 1000 at most.']);
});

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e300,
    '',
    ' ',
    '\0',
    '../..',
    ':',
    'a:b:c',
    '(',
    '*',
    '{default}',
    'https://',
    [],
    {},
    [[]],
    [null],
    { '': 1 },
    { a: { b: { c: 1 } } },
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
);

/** Every key of an application, and what is below some of them. */
const context = {
  images: imagesOf(catalogue),
  scriptsByDefault: true,
  cronMinutesMin: 5,
  isLegacy: false,
  targets: new Map(),
  volumes: new Set<string>(),
};
const keys = application(context, 'app', '/').expected.replace('a map with ', '').split(', ');
const places = [
  ...keys.map((key) => ['applications', 'app', key]),
  ...['commands', 'upstream', 'locations', 'mounts'].map((key) => ['applications', 'app', 'web', key]),
  ...['root', 'passthru', 'index', 'expires', 'allow', 'scripts', 'headers', 'rules', 'request_buffering'].map((key) => [
    'applications',
    'app',
    'web',
    'locations',
    '/',
    key,
  ]),
  ...['commands', 'mounts', 'disk'].map((key) => ['applications', 'app', 'workers', 'w', key]),
  ...['spec', 'commands', 'timeout'].map((key) => ['applications', 'app', 'crons', 'c', key]),
  ...['type', 'configuration', 'relationships', 'size'].map((key) => ['services', 'db', key]),
  ...['databases', 'endpoints', 'extensions'].map((key) => ['services', 'db', 'configuration', key]),
  ...['type', 'upstream', 'to', 'primary', 'id', 'cache', 'ssi', 'sticky', 'redirects', 'tls', 'attributes'].map((key) => [
    'routes',
    'https://{default}/',
    key,
  ]),
  ...['type', 'source', 'run', 'hooks', 'mounts', 'relationships'].map((key) => ['tasks', 't', key]),
  ['applications', 'app'],
  ['applications'],
  ['services'],
  ['routes'],
  ['tasks'],
  [],
];

const sound = {
  applications: {
    app: {
      type: 'php:8.2',
      relationships: { db: null },
      web: { commands: { start: 'x' }, locations: { '/': { passthru: true } } },
      workers: { w: { commands: { start: 'x' } } },
      crons: { c: { spec: '0 * * * *', commands: { start: 'x' } } },
    },
  },
  services: { db: { type: 'postgresql:17', configuration: { databases: ['main'] } } },
  routes: { 'https://{default}/': { type: 'upstream', upstream: 'app:http' } },
  tasks: { t: { type: 'php:8.2', run: { command: 'x' } } },
};

/** With a value at a place, whatever was on the way there. */
function spoiled(target: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const map: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  return { ...map, [key]: spoiled(map[key], rest, value) };
}

test.for(places.map((place) => [place.join('.') || 'the whole file', place] as const))(
  'odd values at %s are read or refused',
  async ([, place]) => {
    await fc.assert(
      fc.asyncProperty(odd, async (value) => {
        const yaml = stringify(spoiled(sound, place, value), { aliasDuplicateObjects: false });
        const { model, errors } = await readText(yaml);
        expect(model === undefined).toBe(errors !== undefined);
        expect(errors?.every(({ message }) => message.endsWith('.')) ?? true).toBe(true);
      }),
      { numRuns: 25 },
    );
  },
);

test('any text is read or refused', async () => {
  const fragments = fc.constantFrom(
    'applications:',
    '\n',
    '  ',
    'app',
    ': ',
    '{',
    '}',
    '[',
    ']',
    '*a',
    '&a ',
    '!include ',
    '- ',
    '? ',
    '|',
    '>',
    '"',
    "'",
    '#',
    '<<',
    '%',
    '---\n',
    '\t',
    '!',
    '!!str ',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join('')),
      ),
      async (yaml) => {
        const { model, errors } = await readText(yaml);
        expect(model === undefined).toBe(errors !== undefined);
      },
    ),
    { numRuns: 500 },
  );
});
