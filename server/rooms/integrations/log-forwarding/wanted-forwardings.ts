/** What is to be forwarded: the logs of each environment of a project to each of its integrations that logs are sent to. Environments that never wrote a line have no logs yet, and are not among them. */
import { stat } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Config } from '../../../config.ts';
import { openSink, sinkTypes, type SinkSettings, type SinkType } from '../../../drivers/log-sinks/open-sink.ts';
import type { ForwardingTask } from '../../../drivers/log-sinks/forwarder.ts';
import type { LogSink } from '../../../drivers/log-sinks/log-sink.ts';
import { environmentsWithLogs, logsOf } from '../../../drivers/logs/log-folders.ts';
import { logsFolder } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { openedValues, type StoredIntegration } from '../stored-integration.ts';
import type { Values } from '../types/field.ts';
import { typeOf } from '../types/types.ts';

/** Of which environment to which integration. */
export interface WantedForwarding {
  project_id: string;
  integration: string;
  type: SinkType;
  environment: { id: string; title: string; type: string };
  task: ForwardingTask;
}

type Row = StoredIntegration & {
  environment_id: string;
  environment_title: string;
  environment_type: string;
  machine_name: string;
};

export async function wantedForwardings({ db, config, secrets }: Pick<Platform, 'db' | 'config' | 'secrets'>): Promise<WantedForwarding[]> {
  const { rows } = await sql<Row>`
    select integrations.*, projects.organization_id, environments.id as environment_id, environments.title as environment_title,
      environments.type as environment_type, environments.machine_name
    from integrations join projects on projects.id = integrations.project_id and projects.status <> 'deleted'
    join environments on environments.project_id = integrations.project_id
    where integrations.type = any(${sinkTypes}) order by integrations.id, environments.id`.execute(db);
  if (rows.length === 0) return [];
  const folder = logsFolder(config);
  const begunAt = await beginningsOf(folder);
  const opened = new Map<string, Values>();
  const valuesOf = (row: Row) => opened.get(row.id) ?? opened.set(row.id, openedValues(secrets, row)).get(row.id) ?? {};
  return rows
    .filter((row) => begunAt.has(clusterOf(row)) && isComplete(row.type, valuesOf(row), config))
    .map((row) => forwardingOf(row, valuesOf(row), { folder, begunAt: begunAt.get(clusterOf(row)) ?? 0 }));
}

/** When the environments that have logs got the first one. */
async function beginningsOf(folder: string): Promise<Map<string, number>> {
  const begunAt = new Map<string, number>();
  for (const cluster of await environmentsWithLogs(folder)) {
    const found = await stat(logsOf(folder, cluster)).catch(() => undefined);
    if (found) begunAt.set(cluster, found.birthtimeMs);
  }
  return begunAt;
}

const clusterOf = ({ project_id, machine_name }: Row) => `${project_id}-${machine_name}`;

const nameOf = (row: Row) => `${row.id}-${clusterOf(row)}`;

/** Whose logs a forwarding of that name sends. */
export function ownerOf(name: string): { projectId: string; environment: string } | undefined {
  const [, projectId, environment] = /^[a-z0-9]+-([a-z0-9]+)-(.+)$/.exec(name) ?? [];
  return projectId !== undefined && environment !== undefined ? { projectId, environment } : undefined;
}

/** Some can be stored before all is known that it takes to send something. */
const isComplete = (type: string, values: Values, config: Config) => Object.keys(typeOf(type).lacks?.(values, config) ?? {}).length === 0;

function forwardingOf(row: Row, values: Values, { folder, begunAt }: { folder: string; begunAt: number }): WantedForwarding {
  const { id, project_id, organization_id, environment_id, environment_title, environment_type } = row;
  const { extra, excluded_services, redaction } = values as unknown as CommonValues;
  const settings = sinkSettings(row.type, values);
  return {
    project_id,
    integration: id,
    type: settings.type,
    environment: { id: environment_id, title: environment_title, type: environment_type },
    task: {
      name: nameOf(row),
      party: organization_id,
      logs: logsOf(folder, clusterOf(row)),
      settings,
      context: { project: project_id, environment: environment_id, extra },
      excludedServices: excluded_services,
      isRedacted: redaction,
      // Where the integration was there before the first log, none of its lines is old.
      isFromBeginning: begunAt > Date.parse(row.created_at),
    },
  };
}

interface CommonValues {
  extra: Record<string, string>;
  excluded_services: string[];
  redaction: boolean;
}

/** What the sink needs of the integration. A text that is empty is one that nobody gave. */
function sinkSettings(type: string, values: Values): SinkSettings {
  const { extra: _extra, excluded_services: _excluded, redaction: _redaction, ...own } = values;
  const given = Object.entries(own).filter(([, value]) => value !== '');
  return { type, ...Object.fromEntries(given) } as unknown as SinkSettings;
}

/** Undefined: it is not one that logs are sent to. */
export const sinkOf = ({ outbound }: Pick<Platform, 'outbound'>, type: string, values: Values): LogSink | undefined =>
  isSinkType(type) ? openSink(sinkSettings(type, values), outbound) : undefined;

export const isSinkType = (type: string): type is SinkType => (sinkTypes as string[]).includes(type);
