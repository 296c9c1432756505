/** What a project used, by group. Nothing is metered yet, and nothing charged. */
import { Type } from 'typebox';

const titles = {
  cpu_app: ['CPU of applications', 'CPU'],
  storage_app_services: ['Storage of applications and services', 'GB'],
  memory_app: ['Memory of applications', 'GB'],
  cpu_services: ['CPU of services', 'CPU'],
  memory_services: ['Memory of services', 'GB'],
  backup_storage: ['Storage of backups', 'GB'],
  build_cpu: ['CPU of builds', 'CPU'],
  build_memory: ['Memory of builds', 'GB'],
  egress_bandwidth: ['Traffic out', 'GB'],
  ingress_requests: ['Requests in', 'requests'],
  logs_fwd_content_size: ['Forwarded logs', 'GB'],
  fastly_bandwidth: ['CDN traffic', 'GB'],
  fastly_requests: ['CDN requests', 'requests'],
} as const;

export const usageGroups = Object.keys(titles);

const Usage = Type.Object({
  title: Type.String(),
  type: Type.Boolean(),
  current_usage: Type.Number(),
  current_usage_formatted: Type.String(),
  not_charged: Type.Boolean(),
  free_quantity: Type.Number(),
  free_quantity_formatted: Type.String(),
  daily_average: Type.Number(),
  daily_average_formatted: Type.String(),
});

export const NoUsage = Type.Partial(Type.Object(Object.fromEntries(usageGroups.map((group) => [group, Usage]))));

/** The usage of these groups, or of all groups when none are named: always zero. */
export const noUsage = (groups: readonly string[] | undefined) =>
  Object.fromEntries(
    Object.entries(titles)
      .filter(([group]) => groups === undefined || groups.includes(group))
      .map(([group, [title, unit]]) => [group, unused(title, `0 ${unit}`)]),
  );

const unused = (title: string, formatted: string) => ({
  title,
  type: false,
  current_usage: 0,
  current_usage_formatted: formatted,
  not_charged: true,
  free_quantity: 0,
  free_quantity_formatted: formatted,
  daily_average: 0,
  daily_average_formatted: formatted,
});
