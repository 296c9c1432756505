/** The environment that a question is about, as every reply tells it, and the filters as they were understood. */
import { createHash } from 'node:crypto';
import { Type, type TProperties, type TSchema } from 'typebox';
import type { Filter, FilterMode, TimeRange } from '../../drivers/metrics/breakdown.ts';
import type { Scope } from '../../drivers/metrics/metrics.ts';
import { compileHref } from '../../kernel/hal.ts';
import { closed, nullable, Uuid } from '../../kernel/schema.ts';
import type { Environment } from '../environments/public.ts';

export interface AskedEnvironment {
  /** A UUID. */
  agent: string;
  projectId: string;
  environmentId: string;
  machineName: string;
  type: string;
  /** The URL of the environment's observability. */
  observability: string;
}

export const observabilityPath = '/projects/{projectId}/environments/{environmentId}/observability';
const observabilityHref = compileHref(observabilityPath);

export const askedEnvironment = (
  { project_id, id, machine_name, type }: Pick<Environment, 'project_id' | 'id' | 'machine_name' | 'type'>,
  { url }: { url: string },
): AskedEnvironment => ({
  agent: agentOf(`${project_id}-${machine_name}`),
  projectId: project_id,
  environmentId: id,
  machineName: machine_name,
  type,
  observability: new URL(observabilityHref({ projectId: project_id, environmentId: id }), url).href,
});

/** The published API tells which agent has measured. Here nobody installs one, so each environment has a name for it that stays the same: a UUID of version 8. */
function agentOf(cluster: string): string {
  const hash = createHash('sha256').update(`agent ${cluster}`).digest('hex');
  return [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
}

export const scopeOf = ({ project_id, machine_name }: Pick<Environment, 'project_id' | 'machine_name'>): Scope => ({
  project: project_id,
  environment: machine_name,
});

export const envelope = ({ projectId, environmentId, machineName }: AskedEnvironment, { from, to }: TimeRange) => ({
  _from: from,
  _to: to,
  _project_id: projectId,
  _environment_id: environmentId,
  _branch_machine_name: machineName,
});

export const Envelope = {
  _from: Type.Integer(),
  _to: Type.Integer(),
  _project_id: Type.String(),
  _environment_id: Type.String(),
  _branch_machine_name: Type.String(),
};
export const Grain = { _grain: Type.Integer({ description: 'Seconds between points.' }) };
export const Agent = { _agent: Uuid };

/** A reply with properties that are put together, so that its type says no more than that it is an object. */
export const Reply = (properties: TProperties) => Type.Unsafe<object>(closed(properties));
export const Data = (item: TSchema) => closed({ data: Type.Array(item) });
export const MapOf = (schema: TSchema) => Type.Unsafe<object>({ type: 'object', additionalProperties: schema });

type ModeNames = Record<FilterMode, string>;
/** Questions about the server are told modes in words, all others as they are sent. */
export const modeWords: ModeNames = { additive: 'additive', subtractive: 'subtractive' };
export const modeNumbers: ModeNames = { additive: '1', subtractive: '-1' };

/** Two filters are told in the singular. */
const toldAs: Readonly<Record<string, string>> = { wt_slots: 'wt_slot', pmu_slots: 'pmu_slot' };

export const echo = (filters: Readonly<Record<string, Filter>>, modes: ModeNames): object =>
  Object.fromEntries(
    Object.entries(filters).flatMap(([name, { values, mode }]) => {
      const told = toldAs[name] ?? name;
      return [[`_${told}`, values] as const, [`_${told}_mode`, modes[mode]] as const];
    }),
  );

export const Echo = (names: readonly string[], modes: ModeNames): TProperties =>
  Object.fromEntries(
    names.flatMap((name): [string, TSchema][] => {
      const told = toldAs[name] ?? name;
      return [
        [`_${told}`, nullable(Type.Array(Type.String()))],
        [`_${told}_mode`, nullable(Type.String({ enum: Object.values(modes) }))],
      ];
    }),
  );
