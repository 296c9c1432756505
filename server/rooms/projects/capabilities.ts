/** What can be done in a project here. Nothing is said to be there before it is. */
import { availableParallelism, totalmem } from 'node:os';
import { Type } from 'typebox';
import { catalogue, statusesOf } from '../../catalogue/catalogue.ts';

const enabled = Type.Object({ enabled: Type.Boolean() });

export const Capabilities = Type.Object({
  custom_domains: Type.Object({ enabled: Type.Boolean(), environments_with_domains_limit: Type.Integer() }),
  source_operations: enabled,
  runtime_operations: enabled,
  tasks: enabled,
  outbound_firewall: enabled,
  egress_proxy: enabled,
  metrics: Type.Object({ max_range: Type.String() }),
  logs_forwarding: Type.Object({ max_extra_payload_size: Type.Integer() }),
  guaranteed_resources: Type.Object({ enabled: Type.Boolean(), instance_limit: Type.Integer() }),
  images: Type.Unsafe<object>({
    type: 'object',
    additionalProperties: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          available: { type: 'boolean' },
          status: { type: 'string', enum: ['supported', 'deprecated', 'retired'] },
          tried: { type: 'boolean', description: 'Whether it is known to run here. Absent for versions that are retired.' },
        },
        required: ['available', 'status'],
      },
    },
  }),
  instance_limit: Type.Integer(),
  build_resources: Type.Object({ enabled: Type.Boolean(), max_cpu: Type.Number(), max_memory: Type.Integer() }),
  object_storage: Type.Object({
    enabled: Type.Boolean(),
    min_storage: Type.Integer(),
    max_storage: Type.Integer(),
    storage_step: Type.Integer(),
    cpu_per_step: Type.Number(),
    memory_per_step: Type.Integer(),
    max_cpu: Type.Number(),
    max_memory: Type.Integer(),
  }),
  data_retention: enabled,
  autoscaling: Type.Object({ enabled: Type.Boolean(), supports_horizontal_scaling_services: Type.Boolean() }),
  integrations: Type.Object({
    enabled: Type.Boolean(),
    config: Type.Unsafe<object>({
      type: 'object',
      additionalProperties: { type: 'object', properties: { enabled: { type: 'boolean' }, role: { type: 'string' } } },
    }),
    allowed_integrations: Type.Array(Type.String()),
  }),
});

const off = { enabled: false };

/** The types of integrations that projects can have; what each is stands in rooms/integrations/types. */
export const offeredIntegrations = [
  'bitbucket',
  'bitbucket_server',
  'blackfire',
  'cdn.fastly',
  'gitea',
  'github',
  'gitlab',
  'health.email',
  'health.pagerduty',
  'health.slack',
  'health.webhook',
  'httplog',
  'newrelic',
  'otlplog',
  'script',
  'splunk',
  'sumologic',
  'syslog',
  'webhook',
] as const;

export type OfferedIntegration = (typeof offeredIntegrations)[number];

/** How large the fields may be that are added to every line of forwarded logs, in bytes. */
const extraBytesMax = 4096;

/** What builds have unless a project says otherwise, as far as the machine has that much: CPUs, and memory in MB. */
const buildMemoryUsual = 2048;
export const buildResourcesUsual = { cpu: 1, memory: buildMemoryUsual };

/** Builds may have half of the machine's memory, because apps run beside them. */
function buildMemoryMax(): number {
  return Math.max(buildMemoryUsual, Math.floor(totalmem() / 2 ** 21));
}

/** The images that are offered, and those that are not any more, by type and version. */
const imagesNow = () =>
  Object.fromEntries(
    Object.entries(catalogue).map(([type, entry]) => [
      type,
      Object.fromEntries(
        statusesOf(entry).map(([version, status]) => {
          const found = entry.versions.find((candidate) => candidate.version === version);
          return [version, { available: status !== 'retired', status, ...(found && { tried: !found.isUntried }) }];
        }),
      ),
    ]),
  );

export const capabilities = {
  custom_domains: { enabled: true, environments_with_domains_limit: 5 },
  source_operations: { enabled: true },
  runtime_operations: { enabled: true },
  tasks: { enabled: true },
  outbound_firewall: off,
  egress_proxy: off,
  metrics: { max_range: '336h' },
  logs_forwarding: { max_extra_payload_size: extraBytesMax },
  guaranteed_resources: { ...off, instance_limit: 0 },
  get images() {
    return imagesNow();
  },
  instance_limit: 8,
  build_resources: { enabled: true, max_cpu: availableParallelism(), max_memory: buildMemoryMax() },
  object_storage: {
    ...off,
    min_storage: 0,
    max_storage: 0,
    storage_step: 0,
    cpu_per_step: 0,
    memory_per_step: 0,
    max_cpu: 0,
    max_memory: 0,
  },
  data_retention: { enabled: true },
  autoscaling: { enabled: true, supports_horizontal_scaling_services: false },
  integrations: {
    enabled: true,
    config: Object.fromEntries(offeredIntegrations.map((type) => [type, { enabled: true, role: 'admin' }])),
    allowed_integrations: [...offeredIntegrations],
  },
};
