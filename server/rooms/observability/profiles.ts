/** Profiles of single requests, and what they recommend. Nothing here makes any, so that there are none: whoever asks for one by its id is told that there is nothing. */
import { Type, type TProperties } from 'typebox';
import { operation, plain } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed, nullable, Time, Uuid } from '../../kernel/schema.ts';
import { aboutEnvironment } from './ask-store.ts';
import { Agent, askedEnvironment, Envelope, envelope, Reply, type AskedEnvironment } from './asked-environment.ts';

const profileSorts = ['date', 'wt', 'io', 'cpu', 'pmu', 'nw', 'sql', 'http'];
const statusCodes = [-1, 0, 16, 32, 64, 128, 192];
const FilterSelect = Type.Optional(Type.Unsafe<object>({ type: 'object' }));
const pageSize = { minimum: 1, maximum: 100 };
const { _from, _to, ...Whose } = Envelope;
const NoProfile = closed({ uuid: Uuid });

const whoseOf = (environment: AskedEnvironment) => {
  const { _from: _1, _to: _2, ...whose } = envelope(environment, { from: 0, to: 0 });
  return { ...whose, _agent: environment.agent };
};

export const listProfiles = operation({
  ...aboutEnvironment,
  summary: 'List the profiles that were made of requests',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/profiles',
  query: Type.Object({
    transaction: Type.Optional(Type.String()),
    page: Type.Optional(Type.Integer({ minimum: 1 })),
    limit: Type.Optional(Type.Integer(pageSize)),
    items_per_page: Type.Optional(Type.Integer(pageSize)),
    url: Type.Optional(Type.String()),
    is_auto: Type.Optional(Type.Boolean()),
    is_public: Type.Optional(Type.String({ enum: ['true', 'false'] })),
    sort_by: Type.Optional(Type.String({ enum: profileSorts })),
    sort_order: Type.Optional(Type.String({ enum: ['asc', 'desc'] })),
    start_date: Type.Optional(Time),
    end_date: Type.Optional(Time),
    status_code: Type.Optional(Type.Unsafe<number>({ type: 'integer', enum: statusCodes })),
    owner: FilterSelect,
    languages: FilterSelect,
    frameworks: FilterSelect,
  }),
  returns: plain(
    Reply({
      ...Whose,
      ...Agent,
      profiles: Type.Array(NoProfile),
      page: Type.Integer(),
      pages: Type.Integer(),
      total: Type.Integer(),
    }),
  ),
  handle: async ({ query, target }, { config }) => ({
    ...whoseOf(askedEnvironment(target, config)),
    profiles: [],
    page: query.page ?? 1,
    pages: 0,
    total: 0,
  }),
});

const twoWeeksSeconds = 14 * 24 * 60 * 60;

export const listRecommendations = operation({
  ...aboutEnvironment,
  summary: 'List what profiles of requests recommend',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/profiles/recommendations',
  query: Type.Object({
    from: Type.Optional(Type.Integer()),
    to: Type.Optional(Type.Integer()),
    transaction: Type.Optional(Type.String()),
    limit: Type.Optional(Type.Integer()),
  }),
  returns: plain(
    Reply({
      ...Envelope,
      ...Agent,
      _transaction: Type.Optional(Type.String()),
      recommendations: Type.Array(closed({ name: Type.String(), total: Type.Integer() })),
      total: Type.Integer(),
    }),
  ),
  handle: async ({ query, target }, { config }) => {
    const environment = askedEnvironment(target, config);
    const to = query.to ?? Math.floor(Date.now() / 1000);
    return {
      ...envelope(environment, { from: query.from ?? to - twoWeeksSeconds, to }),
      _agent: environment.agent,
      _transaction: query.transaction,
      recommendations: [],
      total: 0,
    };
  },
});

/** A part of one profile. Whoever may see the environment learns that it has no such profile; nobody else learns anything. */
const partOfProfile = (part: 'profile' | 'subprofiles' | 'graph' | 'timeline', summary: string, told: TProperties) =>
  operation({
    ...aboutEnvironment,
    summary,
    endpoint: `GET /projects/{projectId}/environments/{environmentId}/observability/profiles/{uuid}/${part}`,
    returns: plain(Reply({ ...Whose, ...Agent, _uuid: Uuid, ...told })),
    handle: async () => {
      throw new Problem('not-found', 'No such profile.');
    },
  });

const Data = Type.Unsafe<object>({ type: 'object' });
const Language = Type.String();

export const getProfile = partOfProfile('profile', 'Get what a profile of a request measured', { profile: Data });

export const getSubprofiles = partOfProfile('subprofiles', 'Get the profiles of what a profiled request called', { subprofiles: Data });

export const getProfileGraph = partOfProfile('graph', 'Get which functions called which in a profiled request', {
  dimensions: Data,
  root: Type.String(),
  nodes: Data,
  edges: Data,
  comparison: Type.Boolean(),
  peaks: Type.Optional(Data),
  arguments: Type.Optional(nullable(Type.Object({}))),
  layers: Type.Optional(nullable(Type.Object({}))),
  labels: Type.Optional(Data),
  spans: Type.Optional(Data),
  'spans-ot': Type.Optional(Data),
  hierarchy: Type.Optional(Data),
  language: Language,
});

export const getProfileTimeline = partOfProfile('timeline', 'Get when functions of a profiled request ran', {
  timeline: Data,
  dimension: Type.String(),
  time: Type.Integer(),
  language: Language,
});
