/**
 * Everything that is found by a name says in it whose it is. For each kind of name there is a way back from the name to its owner: so no two owners can have
 * the same one.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catalogue } from '../../../catalogue/catalogue.ts';
import { isBranchName, machineName, readSshName } from '../../environments/public.ts';
import { app, database, shop } from '../../../testing/stack.ts';
import { refuseNamesAlike } from './distinct-names.ts';
import { generatedHost } from './host-names.ts';
import {
  activityOfTask,
  arrivingVolume,
  backupOfSnapshot,
  backupSnapshot,
  beforeSnapshot,
  dataVolume,
  incomingSnapshot,
  instanceContainer,
  labelOf,
  nameInStack,
  onceContainer,
  serviceContainer,
  setupContainer,
  stackOfContainer,
  stackOfVolume,
  storageVolume,
  taskContainer,
} from './names.ts';

const letters = (characters: string) => (length: { minLength: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...characters.split('')), ...length });
const id = letters('abcdefghijklmnopqrstuvwxyz234567')({ minLength: 13, maxLength: 13 });
/** As the configuration lets apps, services and workers be called; made of little, so that some look like others. */
const name = letters('ab0-_')({ minLength: 1, maxLength: 40 }).filter(
  (one) => /^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/.test(one) && !one.includes('--'),
);
const runs = fc.oneof(
  name,
  fc.tuple(name, name).map(([its, worker]) => `${its}--${worker}`),
);
const number = fc.nat(2000);
const branch = fc
  .oneof(fc.string({ minLength: 1, maxLength: 80 }), letters('ab-/._')({ minLength: 1, maxLength: 80 }))
  .filter(isBranchName);
const type = fc.constantFrom(...Object.keys(catalogue)).map((one) => `${one}:1`);
const backup = letters('0123456789ABCDEFGHJKMNPQRSTVWXYZ')({ minLength: 26, maxLength: 26 });

interface Kind {
  what: string;
  owner: fc.Arbitrary<string>;
  /** With all else that it is made of. */
  names: (owner: string) => fc.Arbitrary<string>;
  ownerOf(name: string): string | undefined;
  charactersMax: number;
}

const container = { owner: id, ownerOf: stackOfContainer, charactersMax: 63 };
const volume = { owner: id, ownerOf: stackOfVolume, charactersMax: 100 };
const kinds: Kind[] = [
  { what: 'a service', ...container, names: (stack) => name.map((one) => serviceContainer(stack, one)) },
  { what: 'the setup of a service', ...container, names: (stack) => name.map((one) => setupContainer(stack, one)) },
  {
    what: 'an instance',
    ...container,
    names: (stack) => fc.tuple(runs, number, number).map(([one, generation, index]) => instanceContainer(stack, one, generation, index)),
  },
  { what: 'a container for commands', ...container, names: (stack) => runs.map((one) => onceContainer(stack, one)) },
  { what: 'a task', ...container, names: (activity) => id.map((stack) => taskContainer(stack, activity)), ownerOf: activityOfTask },
  { what: 'data', ...volume, names: (stack) => fc.tuple(name, type).map(([one, its]) => dataVolume(stack, one, its)) },
  { what: 'storage', ...volume, names: (stack) => runs.map((one) => storageVolume(stack, one)) },
  ...[beforeSnapshot, incomingSnapshot, arrivingVolume].map((passing) => ({
    what: `data for a while (${passing('stack-')})`,
    ...volume,
    names: (stack: string) => runs.map((one) => passing(storageVolume(stack, one))),
  })),
  {
    what: 'a snapshot for a backup',
    ...volume,
    owner: backup,
    names: (one) => fc.tuple(id, runs).map(([stack, its]) => backupSnapshot(one, nameInStack(storageVolume(stack, its)))),
    ownerOf: backupOfSnapshot,
  },
];

test.for(kinds)('the name of $what says whose it is', ({ owner, names, ownerOf, charactersMax }) => {
  const named = owner.chain((one) => names(one).map((its) => [one, its] as const));
  fc.assert(
    fc.property(named, ([one, its]) => {
      expect(ownerOf(its)).toBe(one);
      expect(its).toMatch(/^[a-z0-9-]+$/);
      expect(its.length).toBeLessThanOrEqual(charactersMax);
    }),
  );
});

test('no name of one kind is taken for one of another, nor for one of a build', () => {
  const ways = [stackOfContainer, activityOfTask, stackOfVolume, backupOfSnapshot];
  const ofBuilds = id.map((project) => [`slug-${project}-${'0'.repeat(32)}`, `build-${project}-${'0'.repeat(32)}-a`, `cache-${project}-1`]);
  for (const { owner, names, ownerOf } of kinds) {
    const others = ways.filter((way) => way !== ownerOf);
    for (const its of fc.sample(owner.chain(names), 50))
      expect([its, others.map((way) => way(its))]).toEqual([its, others.map(() => undefined)]);
  }
  for (const its of fc.sample(ofBuilds, 50).flat()) expect([its, ways.map((way) => way(its))]).toEqual([its, ways.map(() => undefined)]);
});

describe('an environment', () => {
  const environment = fc.record({ project_id: id, branch, salt: fc.string({ minLength: 1 }) }).map(({ project_id, branch: its, salt }) => ({
    project_id,
    machine_name: machineName(its, salt),
  }));

  test('is found by its SSH names, each of one app of one environment', () => {
    fc.assert(
      fc.property(environment, runs, fc.option(number), ({ project_id, machine_name }, its, instance) => {
        const rest = instance === null ? its : `${its}--${instance}`;
        const user = `${project_id}-${machine_name}--${rest}`;
        expect(readSshName(user)).toEqual({ projectId: project_id, machineName: machine_name, rest });
      }),
    );
  });

  test('has a host, a cluster and a folder of logs that lead back to it; no host is below that of another', () => {
    const config = { domain: 'apps.example.net' };
    fc.assert(
      fc.property(environment, environment, (one, other) => {
        const host = generatedHost(one, config);
        const [label = '', ...domain] = host.split('.');
        expect([label.length <= 63, domain.join('.')]).toEqual([true, config.domain]);
        const dash = label.lastIndexOf('-');
        expect({ machine_name: label.slice(0, dash), project_id: label.slice(dash + 1) }).toEqual(one);
        const [projectId, machine] = `${one.project_id}-${one.machine_name}`.split(/-(.*)/s);
        expect({ project_id: projectId, machine_name: machine }).toEqual(one);
        expect(generatedHost(other, config).endsWith(`.${host}`)).toBe(false);
      }),
    );
  });
});

describe('in one environment', () => {
  const [written, hashed] = ['a_b', labelOf('a_b')];

  const isRefused = (model: Parameters<typeof refuseNamesAlike>[0]) => {
    try {
      refuseNamesAlike(model);
      return false;
    } catch {
      return true;
    }
  };

  test('names that would be one on the machine are refused, and no others', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 8 }), (names) => {
        const isAlike = new Set(names.map(labelOf)).size < names.length;
        const services = Object.fromEntries(names.map((one) => [one, database(one)]));
        expect(isRefused({ applications: {}, services })).toBe(isAlike);
      }),
    );
    const { applications } = shop();
    const crafted = { ...applications, [written]: app(written), [hashed]: app(hashed) };
    expect(() => refuseNamesAlike({ applications: crafted, services: {} })).toThrow(
      `'${written}' and '${hashed}' would have the same name`,
    );
    expect(() => refuseNamesAlike({ applications: { [written]: app(written) }, services: { [hashed]: database(hashed) } })).not.toThrow();
  });

  test('the volumes of services differ also where a name ends like a type', () => {
    const types = Object.keys(catalogue);
    expect(types.filter((one) => types.some((other) => one.endsWith(`-${other}`)))).toEqual(['oracle-mysql']);
    const [long, short] = [
      { ...database('a'), type: 'oracle-mysql:8.4' },
      { ...database('a-oracle'), type: 'mysql:11.8' },
    ];
    expect(isRefused({ applications: {}, services: { a: long, 'a-oracle': short } })).toBe(true);
    expect(isRefused({ applications: {}, services: { a: long, b: { ...short, name: 'b' } } })).toBe(false);
  });
});
