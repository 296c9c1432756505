/** Where to begin: what is measured of an environment, for how long it is kept, and where each thing is asked for. */
import { Type } from 'typebox';
import { operation, plain } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { environmentTypes } from '../../permissions.ts';
import type { Environment } from '../environments/public.ts';
import { aboutEnvironment } from './ask-store.ts';
import { askedEnvironment, MapOf, Reply, type AskedEnvironment } from './asked-environment.ts';
import { dataRetention } from './retention.ts';

/** By the names of the links, what follows the address of the entrypoint. */
const linkPaths = {
  _self: '',
  resources_overview: '/resources/overview',
  resources_summary: '/resources/summary',
  blackfire_php_server_caches: '/server/caches',
  blackfire_server_global: '/server',
  blackfire_server_transactions_breakdown: '/server/transactions-break-down',
  logs_query: '/logs/query',
  logs_overview: '/logs/overview',
  http_metrics_timeline_urls: '/http/breakdown/urls',
  http_metrics_timeline_ips: '/http/breakdown/ips',
  http_metrics_timeline_user_agents: '/http/breakdown/user-agents',
  // There is no console to play in: the entrypoint is as close as it gets.
  console_sandbox_access: '',
  conprof_applications: '/../continuous-profiling',
  conprof_application_filters: '/../continuous-profiling/app/:app/filter',
  conprof_timeline: '/../continuous-profiling/app/:app',
  conprof_flamegraph: '/../continuous-profiling/app/:app/merge',
} as const;

/** The edge is a service of every environment. */
const servicesOf = ({ sizing: { webapps, workers, services } }: Environment) => [
  ...Object.keys(webapps),
  ...Object.keys(workers),
  ...Object.keys(services),
  'router',
];

function linksOf({ observability }: AskedEnvironment, target: Environment) {
  const hrefOf = (path: string) => ({ href: new URL(`${observability}${path}`).href });
  const ofServices = servicesOf(target).map(
    (name) => [name, { name, ...hrefOf(`/resources/service/${encodeURIComponent(name)}`) }] as const,
  );
  const others = Object.entries(linkPaths).map(([name, path]) => [name, hrefOf(path)] as const);
  return { resources_by_service: Object.fromEntries(ofServices), ...Object.fromEntries(others) };
}

const Uri = Type.String({ format: 'uri' });
const Period = closed({ retention_period: Type.Integer(), max_range: Type.Integer(), recommended_default_range: Type.Integer() });
const kept = ['resources', 'logs', 'http_traffic', 'continuous_profiling'] as const;
const Minutes = closed(Object.fromEntries(kept.map((name) => [name, Type.Integer()])));
const Retention = closed({
  _unit: Type.String(),
  _unit_in_seconds: Type.Integer(),
  ...Object.fromEntries([...kept, 'server_monitoring'].map((name) => [name, Period])),
});
const Links = closed({
  resources_by_service: MapOf(closed({ name: Type.String(), href: Uri })),
  ...Object.fromEntries(Object.keys(linkPaths).map((name) => [name, closed({ href: Uri })])),
});

export const enterObservability = operation({
  ...aboutEnvironment,
  summary: 'Tell what is measured of an environment, and where to ask for it',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability',
  rel: '#observability-pipeline',
  returns: plain(
    Reply({
      message: Type.String(),
      project_id: Type.String(),
      branch_machine_name: Type.String(),
      environment_id: Type.String(),
      environment_type: Type.String({ enum: [...environmentTypes] }),
      vendor: Type.String(),
      psh_user_identifier: Type.String(),
      _links: Links,
      retention: Minutes,
      data_retention: Retention,
    }),
  ),
  handle: async ({ caller, target }, { config, metrics }) => {
    const environment = askedEnvironment(target, config);
    const data_retention = dataRetention(metrics.limits);
    return {
      message: `What is measured of ${environment.environmentId}.`,
      project_id: environment.projectId,
      branch_machine_name: environment.machineName,
      environment_id: environment.environmentId,
      environment_type: environment.type,
      // One of two words in the published API; clients tell environments of this kind by it.
      vendor: 'upsun',
      psh_user_identifier: caller.id,
      _links: linksOf(environment, target),
      retention: Object.fromEntries(kept.map((name) => [name, data_retention[name].retention_period])),
      data_retention,
    };
  },
});
