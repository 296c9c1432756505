/** What the containers of an environment used, and the edge for it: over time by service, over all, and of one service by instance. */
import { Type, type TSchema } from 'typebox';
import { pointsOf, type Filter, type TimeRange } from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import { aggregates, type ResourcesQuestion, type ResourcesRow } from '../../drivers/metrics/questions.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { aboutEnvironment, inTurn, type Asking } from './ask-store.ts';
import { askedEnvironment, Envelope, envelope, Grain, MapOf, Reply, scopeOf } from './asked-environment.ts';
import {
  arrayOf,
  Choices,
  choicesOf,
  filterOf,
  filterParameters,
  grainedRangeOf,
  grainParameter,
  judgedQuery,
  rangeOf,
  rangeParameters,
  type GrainedRange,
  type Reading,
} from './query.ts';

interface Measures {
  used: string;
  limit?: string;
  /** Whether it is told of each thing that is mounted. */
  isOfMounts?: true;
}

const measuresOf = {
  cpu: { used: 'cpu_used', limit: 'cpu_limit' },
  memory: { used: 'memory_used', limit: 'memory_limit' },
  swap: { used: 'swap_used', limit: 'swap_limit' },
  memory_pressure: { used: 'memory_pressure' },
  cpu_pressure: { used: 'cpu_pressure' },
  io_pressure: { used: 'io_pressure' },
  irq_pressure: { used: 'irq_pressure' },
  disk: { used: 'disk_used', limit: 'disk_limit', isOfMounts: true },
  inodes: { used: 'inodes_used', limit: 'inodes_limit', isOfMounts: true },
} as const satisfies Record<string, Measures>;
type MeasuredType = keyof typeof measuresOf;
const measuredTypes = Object.keys(measuresOf) as MeasuredType[];

interface Wanted {
  types: readonly MeasuredType[];
  aggs: readonly (typeof aggregates)[number][];
}

/** Where none are named, all are wanted. */
function wantedIn(reading: Reading): Wanted {
  const [types, aggs] = [choicesOf(reading, 'types', measuredTypes), choicesOf(reading, 'aggs', aggregates)];
  return { types: types.length > 0 ? types : measuredTypes, aggs: aggs.length > 0 ? aggs : aggregates };
}

const wantedParameters = { types: Choices(measuredTypes), aggs: Choices(aggregates) };

/** Whatever was wanted is there, also where nothing was measured of it: the released client takes what is missing for a failure. */
function measured(rows: readonly ResourcesRow[], { types, aggs }: Wanted) {
  const tell = (row: ResourcesRow | undefined, some: readonly Measures[]) =>
    Object.fromEntries(
      some.flatMap(({ used, limit }) => {
        const own = row?.used[used];
        const highest = limit === undefined ? undefined : row?.limits[limit];
        return [
          [used, own ? Object.fromEntries(aggs.map((name) => [name, own[name]])) : {}] as const,
          ...(limit === undefined ? [] : [[limit, highest === undefined ? {} : { max: highest }] as const]),
        ];
      }),
    );
  const wanted: readonly Measures[] = types.map((type) => measuresOf[type]);
  const ofMounts = wanted.filter(({ isOfMounts }) => isOfMounts);
  const mounts = rows.flatMap((row) => (row.mount === undefined ? [] : [[row.mount, tell(row, ofMounts)] as const]));
  return {
    ...tell(
      rows.find(({ mount }) => mount === undefined),
      wanted.filter(({ isOfMounts }) => !isOfMounts),
    ),
    ...(ofMounts.length > 0 && { mountpoints: Object.fromEntries(mounts) }),
  };
}

const byName = (rows: readonly ResourcesRow[], nameOf: (row: ResourcesRow) => string, wanted: Wanted) =>
  Object.fromEntries([...Map.groupBy(rows, nameOf)].map(([name, own]) => [name, measured(own, wanted)]));

const serviceOf = ({ service }: ResourcesRow) => service;
const instanceOf = ({ instance = '' }: ResourcesRow) => instance;

/** Instances are looked at every few seconds; points closer than a minute would tell of single looks. */
const grainLeast = 60;
const chosenGrain = (range: TimeRange) => Math.min(range.to - range.from, Math.max(grainLeast, grainOf(range)));

function servicesIn(reading: Reading): Filter {
  const filter = filterOf(reading, 'services');
  const [service] = arrayOf(reading, 'service');
  return service === undefined ? filter : { values: [...filter.values, service], mode: 'additive' };
}

const ask = (request: Asking, platform: Platform, question: Omit<ResourcesQuestion, 'project' | 'environment'>) =>
  inTurn(request, platform, () => platform.metrics.resources({ ...scopeOf(request.target), ...question }));

const timelineOf = (rows: readonly ResourcesRow[], range: GrainedRange, tell: (rows: readonly ResourcesRow[]) => object) => {
  const points = Map.groupBy(rows, ({ timestamp }) => timestamp);
  return pointsOf(range).map((timestamp) => {
    const own = points.get(timestamp);
    return own ? { timestamp, ...tell(own) } : { timestamp };
  });
};

const Amount = nullable(Type.Number());
const Used = Type.Optional(closed(Object.fromEntries(aggregates.map((name) => [name, Type.Optional(Amount)]))));
const Limit = Type.Optional(closed({ max: Type.Optional(Amount) }));
const propertiesOf = (some: readonly Measures[]): Record<string, TSchema> =>
  Object.fromEntries(some.flatMap(({ used, limit }) => [[used, Used] as const, ...(limit === undefined ? [] : [[limit, Limit] as const])]));
const all: readonly Measures[] = Object.values(measuresOf);
const Measured = closed({
  ...propertiesOf(all.filter(({ isOfMounts }) => !isOfMounts)),
  mountpoints: Type.Optional(MapOf(closed(propertiesOf(all.filter(({ isOfMounts }) => isOfMounts))))),
});

export const tellResources = operation({
  ...aboutEnvironment,
  summary: 'Tell what the services of an environment used over time',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/resources/overview',
  query: judgedQuery(
    {
      ...rangeParameters,
      ...grainParameter,
      service: Type.Optional(Type.String()),
      ...filterParameters(['services']),
      ...wantedParameters,
    },
    (reading) => {
      const [range, services, wanted] = [grainedRangeOf(reading, chosenGrain), servicesIn(reading), wantedIn(reading)];
      return range && { range, services, wanted };
    },
  ),
  returns: plain(
    Reply({
      ...Grain,
      ...Envelope,
      data: Type.Array(closed({ timestamp: Type.Integer(), services: Type.Optional(MapOf(Measured)) })),
    }),
  ),
  handle: async (request, platform) => {
    const { range, services, wanted } = request.query;
    const rows = await ask(request, platform, { ...range, byInstance: false, services });
    return {
      ...envelope(askedEnvironment(request.target, platform.config), range),
      _grain: range.grain,
      data: timelineOf(rows, range, (own) => ({ services: byName(own, serviceOf, wanted) })),
    };
  },
});

export const sumUpResources = operation({
  ...aboutEnvironment,
  summary: 'Sum up what the instances of an environment used',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/resources/summary',
  query: judgedQuery({ ...rangeParameters, ...filterParameters(['services']), ...wantedParameters }, (reading) => {
    const [range, services, wanted] = [rangeOf(reading), servicesIn(reading), wantedIn(reading)];
    return range && { range, services, wanted };
  }),
  returns: plain(Reply({ ...Envelope, data: closed({ services: MapOf(MapOf(Measured)) }) })),
  handle: async (request, platform) => {
    const { range, services, wanted } = request.query;
    const rows = await ask(request, platform, { ...range, byInstance: true, services });
    const found = [...Map.groupBy(rows, serviceOf)].map(([service, own]) => [service, byName(own, instanceOf, wanted)] as const);
    return {
      ...envelope(askedEnvironment(request.target, platform.config), range),
      data: { services: Object.fromEntries(found) },
    };
  },
});

export const tellResourcesOfService = operation({
  ...aboutEnvironment,
  summary: 'Tell what the instances of one service used over time',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/resources/service/{service}',
  query: judgedQuery({ ...rangeParameters, ...grainParameter, ...wantedParameters }, (reading) => {
    const [range, wanted] = [grainedRangeOf(reading, chosenGrain), wantedIn(reading)];
    return range && { range, wanted };
  }),
  returns: plain(
    Reply({
      ...Grain,
      ...Envelope,
      _service: Type.String(),
      data: Type.Array(closed({ timestamp: Type.Integer(), instances: Type.Optional(MapOf(Measured)) })),
    }),
  ),
  handle: async (request, platform) => {
    const { range, wanted } = request.query;
    const { service } = request.params;
    const rows = await ask(request, platform, { ...range, byInstance: true, services: { values: [service], mode: 'additive' } });
    return {
      ...envelope(askedEnvironment(request.target, platform.config), range),
      _grain: range.grain,
      _service: service,
      data: timelineOf(rows, range, (own) => ({ instances: byName(own, instanceOf, wanted) })),
    };
  },
});
