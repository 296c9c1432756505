/**
 * How a container is told where to report traces, in the variables that every SDK of OpenTelemetry reads. Variables of the user win. Whoever has named an endpoint of
 * their own is told neither ours nor its token, which would be sent there. These variables are no reason to start a container anew: one that runs gets them with its
 * next start.
 */
import type { Reporter, TracesEndpoint } from '../../../drivers/otlp/reporter.ts';

type Variables = Readonly<Record<string, string>>;

export const tracingVariables = ({ url, tokens }: TracesEndpoint, reporter: Reporter, chosen: Variables): Variables => ({
  ...(!endpointVariables.some((name) => name in chosen) && {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(`Bearer ${tokens.issue(reporter)}`)}`,
    // Traces are all that is taken there; an SDK that exports everything by default would complain all the time.
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  }),
  OTEL_SERVICE_NAME: reporter.application,
  OTEL_RESOURCE_ATTRIBUTES: attributesText({
    'service.instance.id': reporter.instance,
    'service.namespace': reporter.project,
    'deployment.environment.name': reporter.environment,
  }),
  ...chosen,
});

const endpointVariables = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

const attributesText = (attributes: Variables) =>
  Object.entries(attributes)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join(',');
