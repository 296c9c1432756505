import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';
import { runtimes } from './catalogue/runtimes.ts';
import { services } from './catalogue/services.ts';
import { reconcilersOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';

const root = join(import.meta.dirname, '..');

interface Import {
  file: string;
  to: string;
  typesOnly: boolean;
}

/** All that files of this repository import of one another. Paths begin at its root. */
const everyImport: Import[] = globSync('{server,edge,cli,bench,e2e}/**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export)[^;]*? from '(\.[^']+)'|import\('(\.[^']+)'\)/gms)].map(
    ([statement, from, inline]) => ({
      file,
      to: normalize(join(dirname(file), from ?? inline ?? '')),
      typesOnly: from === undefined || /^(import|export) type/.test(statement) || !/[{,]\s*(?!type )\w|\*|^import \w/.test(statement),
    }),
  ),
);
/** The imports of the server, with paths that begin in its folder. */
const imports = everyImport
  .filter(({ file }) => file.startsWith('server/'))
  .map((each) => ({ ...each, file: relative('server', each.file), to: relative('server', each.to) }));

const roomOf = (path: string) => path.match(/^rooms\/([^/]+)\//)?.[1];
const isTest = (file: string) => /\.test\.ts$|(^|\/)testing\/|(^|\/)(test-[^/]+|conformance)\.ts$/.test(file);

/** The life cycle of a room's noun is a table that every room may read, also those above it. */
const isLifeCycle = (path: string) => /^rooms\/[^/]+\/life-cycle\.ts$/.test(path);

test('a room is entered through the doors that are for others: public.ts, work.ts and life-cycle.ts', () => {
  const trespassing = imports.filter(({ file, to }) => {
    const into = roomOf(to);
    return into && into !== roomOf(file) && !/\/(public|work|room)\.ts$/.test(to) && !isLifeCycle(to);
  });
  expect(trespassing).toEqual([]);
});

/** Comparisons of a state with a literal, in SQL and in TypeScript, and literals that a state is set to. */
const stateLiterals = [
  /\b(environments|deployments|parents|earlier)\.status\s*(=|<>|in|not in)\s/,
  /\bupdate (environments|deployments) set status = '/,
  /\b(environment|environment_info|parent|child|existing|subject|kept|deployment)\??\.status\s*[=!]==\s*'/,
];

test('what follows from the state of an environment or a deployment is decided in its life cycle, by no literal elsewhere', () => {
  const deciding = globSync('{server,cli}/**/*.ts', { cwd: root }).filter(
    (file) => !isTest(file) && stateLiterals.some((literal) => literal.test(readFileSync(join(root, file), 'utf8'))),
  );
  expect(deciding).toEqual([]);
});

test('a life cycle needs nothing but the kernel, so that whoever reads it loads no room', () => {
  expect(imports.filter(({ file, to }) => isLifeCycle(file) && to !== 'kernel/life-cycle.ts')).toEqual([]);
});

test('room.ts is for rooms.ts alone', () => {
  const registering = everyImport.filter(({ file, to }) => /\/rooms\/[^/]+\/room\.ts$/.test(to) && !isTest(file));
  expect(registering.length).toBe(rooms.length);
  expect(registering.filter(({ file }) => file !== 'server/rooms.ts')).toEqual([]);
});

test('a room uses only rooms above it in the list of rooms.ts, also of their types', () => {
  const text = readFileSync(join(root, 'server/rooms.ts'), 'utf8');
  const folderOf = new Map(
    [...text.matchAll(/import \{ (\w+) \} from '\.\/rooms\/([^/]+)\//g)].map(([, name = '', folder = '']) => [name, folder]),
  );
  const order = [...text.matchAll(/^ {2}(\w+),$/gm)].map(([, name = '']) => folderOf.get(name));
  expect(order.length).toBe(rooms.length);
  const standing = imports.filter(
    ({ file, to }) => !isTest(file) && roomOf(file) && roomOf(to) && roomOf(file) !== roomOf(to) && !isLifeCycle(to),
  );
  expect(standing.length).toBeGreaterThan(100);
  expect(standing.filter(({ file, to }) => order.indexOf(roomOf(to)) >= order.indexOf(roomOf(file)))).toEqual([]);
});

/** Circles of imports: ways that lead from a file back to it. */
function circlesAmong(some: readonly Import[]): string[] {
  const importsOf = Map.groupBy(some, ({ file }) => file);
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '));
    else if (!done.has(file)) {
      for (const { to } of importsOf.get(file) ?? []) walk(to, [...way, file]);
      done.add(file);
    }
  };
  for (const file of importsOf.keys()) walk(file, []);
  return circles;
}

test('no file needs itself: what a file loads never leads back to it', () => {
  const loading = everyImport.filter(({ typesOnly }) => !typesOnly);
  expect(new Set(loading.map(({ file }) => file)).size).toBeGreaterThan(500);
  expect(circlesAmong(loading)).toEqual([]);
});

test('inside the edge and the operator commands, no file leads back to itself by its types, either', () => {
  const standing = everyImport.filter(({ file }) => /^(edge|cli)\//.test(file));
  expect(standing.some(({ typesOnly }) => typesOnly)).toBe(true);
  expect(circlesAmong(standing)).toEqual([]);
});

/** The edge's rules for connections and addresses hold at the platform's own doors too. */
const rulesOfEdge = ['../edge/client/addresses.ts', '../edge/client/open-connections.ts', '../edge/upstream/public-address.ts'];

/** Both ends read and write the same bytes. */
const toldByEdge = ['../edge/logs/batch-frames.ts', '../edge/logs/request-batch.ts'];

test('the kernel knows no room, no driver, and of the product only types', () => {
  const inside = imports.filter(({ file }) => file.startsWith('kernel/') && !isTest(file));
  expect(inside.length).toBeGreaterThan(10);
  expect(
    inside.filter(
      ({ to, typesOnly }) =>
        !to.startsWith('kernel/') && !rulesOfEdge.includes(to) && !(typesOnly && ['platform.ts', 'database.ts'].includes(to)),
    ),
  ).toEqual([]);
});

test('a driver knows neither rooms nor the platform; of the edge it knows types, its rules for connections and addresses, how to connect to a socket, how logs are rotated, and how requests are told', () => {
  const inside = imports.filter(({ file }) => file.startsWith('drivers/') && !isTest(file));
  const isOfEdge = (to: string, typesOnly: boolean) =>
    (typesOnly && to.startsWith('../edge/')) ||
    [...rulesOfEdge, ...toldByEdge, '../edge/logs/rotate-log.ts', '../edge/upstream/unix-socket.ts'].includes(to);
  expect(inside.filter(({ to, typesOnly }) => !/^(drivers|kernel)\//.test(to) && !isOfEdge(to, typesOnly))).toEqual([]);
});

test('the catalogue stands between drivers and rooms: it knows of drivers types and what recipes are, and no room', () => {
  const inside = imports.filter(({ file }) => file.startsWith('catalogue/') && !isTest(file));
  expect(inside.length).toBeGreaterThan(50);
  const isBelow = (to: string, typesOnly: boolean) =>
    /^(catalogue|kernel)\//.test(to) ||
    (typesOnly && to.startsWith('drivers/')) ||
    ['drivers/images/image-types.ts', 'drivers/images/recipe.ts'].includes(to);
  expect(inside.filter(({ to, typesOnly }) => !isBelow(to, typesOnly))).toEqual([]);
});

/** The code of a file of the server, without its comments. */
const codeOf = (file: string) => readFileSync(join(root, 'server', file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm, '');
const codeByFile = globSync('**/*.ts', { cwd: join(root, 'server') })
  .filter((file) => !isTest(file))
  .map((file) => [file, codeOf(file)] as const);
const filesWith = (pattern: RegExp) => codeByFile.flatMap(([file, code]) => (pattern.test(code) ? file : []));

/** The file of each type of a list, as the list imports it. */
function filesIn(list: 'services' | 'runtimes'): Map<string, string> {
  const text = codeOf(`catalogue/${list}.ts`);
  const fileOf = new Map(
    [...text.matchAll(/import \{ ([\w, ]+) \} from '\.(\/\w+\/[^']+)'/g)].flatMap(([, names = '', file = '']) =>
      names.split(', ').map((name) => [name, `catalogue${file}`] as const),
    ),
  );
  const lines = text.matchAll(/^ {2}'?([\w-]+)'?(?:: (\w+))?,$/gm);
  return new Map([...lines].map(([, name = '', variable = name]) => [name, fileOf.get(variable) ?? '']));
}

/** Files that name services for another reason than to offer them. */
const namesServices = new Set([
  // Types whose images are brought ahead of the first push.
  'catalogue/example-types.ts',
  // Extensions of PHP have the names of the services that they speak with.
  'catalogue/runtimes/php-extensions.ts',
  // The files that a broker consists of have its name.
  'catalogue/services/kafka-jars.ts',
  // The platform's own database is PostgreSQL.
  'setting-values.ts',
  'drivers/postgres/embedded.ts',
]);

test('a type of service is known by name in its own file and in the list of services, and nowhere else', () => {
  const ownFiles = filesIn('services');
  expect([...ownFiles.keys()]).toEqual(Object.keys(services));
  const wordsOf = new Map(
    Object.entries(services).map(([name, entry]) => {
      const { rel, scheme } = 'service' in entry ? entry.service.relationship : { rel: name, scheme: name };
      // A service that speaks HTTP shares the word with everything else that does.
      return [name, [name, rel, scheme].filter((word) => word !== 'http')] as const;
    }),
  );
  const naming = [...wordsOf].flatMap(([name, words]) =>
    filesWith(new RegExp(String.raw`(?<!\w)(?:${words.join('|')})(?!\w)`))
      .filter((file) => file !== 'catalogue/services.ts' && file !== ownFiles.get(name) && !namesServices.has(file))
      .map((file) => `${file} names ${name}`),
  );
  expect(naming).toEqual([]);
});

/** Files that name languages for another reason than that apps can be of that type. */
const namesRuntimes = new Set([
  'catalogue/example-types.ts',
  // The signs by which the languages of a repository are recognised, in one order.
  'rooms/builds/config/recognise.ts',
  // Packages that apps of any type can have installed beside them, by language.
  'rooms/builds/build-commands.ts',
  'rooms/builds/config/language/runtime.ts',
]);

test('a type of runtime is known by name in its own file and in the list of runtimes, and nowhere else', () => {
  const ownFiles = filesIn('runtimes');
  expect([...ownFiles.keys()]).toEqual(Object.keys(runtimes));
  const naming = [...ownFiles].flatMap(([name, own]) =>
    filesWith(new RegExp(`['"\`]${name}(?::[\\d.]*)?['"\`]`))
      .filter((file) => file !== own && !namesRuntimes.has(file))
      .map((file) => `${file} names ${name}`),
  );
  expect(naming).toEqual([]);
});

test('the edge stands by itself: it imports its own files and Node, so that its version is that of its folder', () => {
  const own = everyImport.filter(({ file }) => file.startsWith('edge/') && !isTest(file));
  expect(own.length).toBeGreaterThan(100);
  expect(own.filter(({ to }) => !to.startsWith('edge/'))).toEqual([]);
  const packages = globSync('edge/**/*.ts', { cwd: root })
    .filter((file) => !isTest(file))
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(/ from '([^.'][^']*)'/g)].map(([, name = '']) => name));
  expect(packages.filter((name) => !name.startsWith('node:'))).toEqual([]);
});

test('nothing but tests imports test code', () => {
  expect(imports.filter(({ file, to }) => isTest(to) && !isTest(file))).toEqual([]);
});

/** Variables that systemd gives to a process that it started are no settings. */
const toldBySystemd = new Set(['service-manager.ts', 'kernel/journal.ts']);

test('the environment is handed to config.ts once, by main.ts', () => {
  const readers = globSync('**/*.ts', { cwd: join(root, 'server') }).filter(
    (file) => !isTest(file) && /process\.env\b/.test(readFileSync(join(root, 'server', file), 'utf8')),
  );
  expect(readers.filter((file) => !toldBySystemd.has(file))).toEqual(['main.ts']);
});

/** Files that connect by themselves, and to what. */
const connectsItself: Readonly<Record<string, string>> = {
  'rooms/ssh/gateway.ts': 'ports of instances, from their own machine',
  'rooms/ssh/serve-terminals.ts': 'nothing: browsers connect to it, by a package that brings their protocol',
  'drivers/runtime/runc/ready.ts': 'ports of containers, from their own machine',
  'drivers/edge/control-client.ts': 'the Unix socket of the edge',
  'drivers/metrics/duckdb/store-connection.ts': 'the Unix socket of the store of measurements',
  'drivers/mail/mail.ts': 'the mail server of the operator, by a package that brings its protocol',
  'drivers/blobs/s3.ts': 'buckets of the operator, to which restic connects by itself, too; files pass that have no bound',
  'drivers/images/fetch-files.ts': 'Maven Central, for files of which the catalogue has the hashes',
  'drivers/certificates/dns/dns-view.ts': 'name servers, whose addresses are held to the same rules',
  'rooms/deployments/stack/outbound.ts': 'name servers of this machine, for rules of what containers may reach',
};
/** Files with a function of their own that is called `fetch`. */
const ownFetch = new Set(['kernel/batched.ts', 'rooms/deployments/deploy/restoring.ts', 'rooms/deployments/deploy/stack-volumes.ts']);

/** What Node connects to others with, by what it is imported from. */
const connecting =
  /^import (?!type\b)[^;]*?\b(?<!type )(?:connect|createConnection|request|get)\b[^;]*? from 'node:(?:net|tls|http|https|http2)'/m;
const resolvingOrSending =
  /^import (?!type\b)[^;]*? from '(?:node:(?:dns(?:\/promises)?|dgram)|undici|nodemailer|ws)'|\bnew (?:WebSocket|EventSource)\(/m;

test('what goes out passes drivers/outbound, and nothing else connects to other machines', () => {
  const going = new Set([
    ...filesWith(connecting),
    ...filesWith(resolvingOrSending),
    ...filesWith(/(?<![\w.])fetch\(|globalThis\.fetch/).filter((file) => !ownFetch.has(file)),
  ]);
  const guards = [...going].filter((file) => file.startsWith('drivers/outbound/'));
  expect(guards.toSorted()).toEqual(['connect', 'datagrams', 'exchange', 'look-up-host'].map((name) => `drivers/outbound/${name}.ts`));
  expect([...going].filter((file) => !guards.includes(file)).toSorted()).toEqual(Object.keys(connectsItself).toSorted());
});

test('a reconciler that needs the machine says so: of several runners, only the one that has it looks', () => {
  const asking = reconcilersOf(rooms).filter(({ run }) => run.toString().includes('platform.machine()'));
  expect(asking.length).toBeGreaterThan(3);
  expect(asking.filter(({ usesMachine }) => !usesMachine).map(({ name }) => name)).toEqual([]);
});
