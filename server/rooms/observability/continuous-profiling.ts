/** Where apps spend their time, sampled all the time. Nothing here takes such samples yet: no app has any, and nothing is kept. */
import { Type } from 'typebox';
import { pointsOf } from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import type { MetricsLimits } from '../../drivers/metrics/metrics.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { aboutEnvironment } from './ask-store.ts';
import { MapOf, Reply } from './asked-environment.ts';
import { profilingFailureBodies, tooMuchData } from './failures.ts';
import { Choice, choice, filterOf, filterParameters, judgedQuery, wholeNumber, type GrainedRange, type Reading } from './query.ts';
import { dataRetention } from './retention.ts';

/** What can be profiled, in which unit, and how values of a point become one. */
const profileTypes = {
  cpu: { unit: 'nanoseconds_per_second', aggregation: 'sum' },
  'wall-time': { unit: 'nanoseconds_per_second', aggregation: 'sum' },
  wall: { unit: 'nanoseconds_per_second', aggregation: 'sum' },
  goroutine: { unit: 'count', aggregation: 'avg' },
  alloc_objects: { unit: 'count_per_second', aggregation: 'sum' },
  alloc_space: { unit: 'bytes_per_second', aggregation: 'sum' },
  inuse_objects: { unit: 'count', aggregation: 'avg' },
  inuse_space: { unit: 'bytes', aggregation: 'avg' },
  space: { unit: 'bytes', aggregation: 'avg' },
} as const;
type ProfileType = keyof typeof profileTypes;
const profileTypeNames = Object.keys(profileTypes) as ProfileType[];
const filterNames = ['runtime', 'runtime_version', 'runtime_arch', 'runtime_os', 'probe_version'];

const usualSeconds = 30 * 60;
const grainLeast = 60;
const Seconds = Type.Optional(Type.Integer({ format: 'int64' }));
const rangeParameters = { from: Seconds, to: Seconds };

/** The last half hour, where nothing else is said. */
function rangeIn(reading: Reading): GrainedRange {
  const to = wholeNumber(reading, 'to') ?? Math.floor(reading.now);
  const from = wholeNumber(reading, 'from') ?? to - usualSeconds;
  if (from >= to) reading.violate('from', "invalid 'from' parameter");
  const range = { from, to };
  return { ...range, grain: Math.max(grainLeast, grainOf(range)) };
}

function readProfileRequest(reading: Reading) {
  for (const name of filterNames) filterOf(reading, name);
  return { range: rangeIn(reading), type: choice(reading, 'profile_type', profileTypeNames, 'cpu') };
}

const ProfileQuery = judgedQuery(
  { ...rangeParameters, profile_type: Choice(profileTypeNames, 'cpu'), ...filterParameters(filterNames) },
  readProfileRequest,
);

const aboutProfiles = { ...aboutEnvironment, failureBodies: profilingFailureBodies };

const ProfileTypeOf = closed({
  name: Type.String(),
  description: Type.String(),
  title: Type.String(),
  unit: Type.String(),
  aggregation: Type.String({ enum: ['avg', 'sum'] }),
});

export const listProfiledApplications = operation({
  ...aboutProfiles,
  summary: 'List the apps that are profiled all the time',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling',
  query: judgedQuery(rangeParameters, rangeIn),
  returns: plain(
    Reply({
      applications: MapOf(closed({ name: Type.String(), profile_types: MapOf(ProfileTypeOf), languages: Type.Array(Type.String()) })),
    }),
  ),
  handle: async () => ({ applications: {} }),
});

export const tellProfileOfApplication = operation({
  ...aboutProfiles,
  summary: 'Tell what profiles of an app add up to over time',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}',
  query: ProfileQuery,
  returns: plain(
    Reply({
      from: Type.Integer(),
      to: Type.Integer(),
      grain: Type.Integer(),
      unit: Type.String(),
      aggregation_type: Type.String({ enum: ['avg', 'sum'] }),
      retention: Type.Integer({ description: 'Minutes.' }),
      points: Type.Array(closed({ timestamp: Type.Integer(), value: Type.Optional(Type.Integer()) })),
    }),
  ),
  handle: async ({ query: { range, type } }, { metrics }) => ({
    ...range,
    unit: profileTypes[type].unit,
    aggregation_type: profileTypes[type].aggregation,
    retention: dataRetention(metrics.limits).continuous_profiling.retention_period,
    points: emptyPoints(range, metrics.limits),
  }),
});

function emptyPoints(range: GrainedRange, { secondsMax }: MetricsLimits): { timestamp: number }[] {
  if (range.to - range.from > secondsMax) throw tooMuchData();
  return pointsOf(range).map((timestamp) => ({ timestamp }));
}

const flameForm = 'flamebearerv2';

function readFlameRequest(reading: Reading) {
  const out = choice(reading, 'out', ['pprof', 'dot', flameForm], flameForm);
  if (out !== flameForm) reading.violate('out', `Nothing was profiled that could be told as ${out}.`);
  return readProfileRequest(reading);
}

/** A flame graph of no samples at all: one line of nothing. */
const emptyFlames = { names: ['total'], levels: [[0, 0, 0, 0]], numTicks: 0, maxSelf: 0 };

export const mergeProfilesOfApplication = operation({
  ...aboutProfiles,
  summary: 'Merge the profiles of an app into one flame graph',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}/merge',
  query: judgedQuery({ ...ProfileQuery.documented.properties, out: Choice(['pprof', 'dot', flameForm], flameForm) }, readFlameRequest),
  returns: plain(
    Reply({
      version: Type.Integer(),
      flamebearer: closed({
        names: Type.Array(Type.String()),
        levels: Type.Array(Type.Array(Type.Integer())),
        numTicks: Type.Integer(),
        maxSelf: Type.Integer(),
      }),
      metadata: closed({
        format: Type.String(),
        spyName: Type.String(),
        sampleRate: Type.Integer(),
        units: Type.String(),
        name: Type.String(),
      }),
      _profile_type: Type.String(),
      _sample_unit: Type.String(),
      _aggregation_type: Type.String({ enum: ['avg', 'sum'] }),
      _application: Type.String(),
    }),
  ),
  handle: async ({ query: { type }, params }) => ({
    version: 1,
    flamebearer: emptyFlames,
    metadata: { format: 'single', spyName: 'unknown', sampleRate: 0, units: 'samples', name: type },
    _profile_type: type,
    _sample_unit: profileTypes[type].unit.replace(/_per_second$/, ''),
    _aggregation_type: profileTypes[type].aggregation,
    _application: params.app,
  }),
});

export const listProfileFilters = operation({
  ...aboutProfiles,
  summary: 'List what profiles of an app can be filtered by',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/continuous-profiling/app/{app}/filter',
  query: ProfileQuery,
  returns: plain(
    Reply({
      fields: MapOf(
        closed({ distinct_values: Type.Integer(), values: Type.Array(closed({ value: Type.String(), count: Type.Integer() })) }),
      ),
      max_applicable_filters: Type.Integer(),
    }),
  ),
  handle: async () => ({ fields: {}, max_applicable_filters: filterNames.length }),
});
