import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { reconcilersOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';

const root = import.meta.dirname;
const imports = globSync('**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export)[^;]*? from '(\.[^']+)'/gms)].map(([statement, to = '']) => ({
    file,
    to: normalize(join(dirname(file), to)),
    typesOnly: /^(import|export) type/.test(statement),
  })),
);

const roomOf = (path: string) => path.match(/^rooms\/([^/]+)\//)?.[1];
const isTest = (file: string) => /\.test\.ts$|(^|\/)(test-[^/]+|conformance)\.ts$/.test(file);

test('a room is entered through its front door', () => {
  const trespassing = imports.filter(({ file, to }) => {
    const into = roomOf(to);
    return into && into !== roomOf(file) && !to.endsWith('/room.ts');
  });
  expect(trespassing).toEqual([]);
});

/** The edge's rules for connections and addresses hold at the platform's own doors too. */
const rulesOfEdge = ['../edge/addresses.ts', '../edge/connection-places.ts', '../edge/public-address.ts'];

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

test('a driver knows neither rooms nor the platform; of the edge it knows types, its rules for connections and addresses, how to connect to a socket, and how logs are put aside', () => {
  const inside = imports.filter(({ file }) => file.startsWith('drivers/') && !isTest(file));
  const isOfEdge = (to: string, typesOnly: boolean) =>
    (typesOnly && to.startsWith('../edge/')) || [...rulesOfEdge, '../edge/put-aside.ts', '../edge/unix-socket.ts'].includes(to);
  expect(inside.filter(({ to, typesOnly }) => !/^(drivers|kernel)\//.test(to) && !isOfEdge(to, typesOnly))).toEqual([]);
});

test('the edge stands by itself: it imports its own files and Node, so that its version is that of its folder', () => {
  const edge = join(root, '../edge');
  const files = globSync('*.ts', { cwd: edge }).filter((file) => !isTest(file));
  const imported = files.flatMap((file) =>
    [...readFileSync(join(edge, file), 'utf8').matchAll(/ from '([^']+)'/g)].map(([, to = '']) => to),
  );
  expect(imported.length).toBeGreaterThan(100);
  expect(imported.filter((to) => !/^(?:\.\/[^/]+\.ts|node:.*)$/.test(to))).toEqual([]);
});

test('nothing but tests imports test code', () => {
  expect(imports.filter(({ file, to }) => isTest(to) && !isTest(file))).toEqual([]);
});

test('the environment is handed to config.ts once, by main.ts', () => {
  const readers = globSync('**/*.ts', { cwd: root }).filter(
    (file) => !isTest(file) && /process\.env\b/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(readers).toEqual(['main.ts']);
});

test('a reconciler that needs the machine says so: of several runners, only the one that has it looks', () => {
  const asking = reconcilersOf(rooms).filter(({ run }) => run.toString().includes('platform.machine()'));
  expect(asking.length).toBeGreaterThan(3);
  expect(asking.filter(({ usesMachine }) => !usesMachine).map(({ name }) => name)).toEqual([]);
});
