/**
 * What one day took, from what was measured on it: a pure function. Energy is whole microwatt-hours and carbon whole micrograms, rounded once for each environment and day, so that whatever is
 * added up later adds up exactly.
 */
import type { Scope, Usage } from '../../drivers/metrics/metrics.ts';
import type { Method } from './method.ts';

export const parts = ['processors', 'idle', 'memory', 'disk', 'network'] as const;
export type Part = (typeof parts)[number];
export type Energy = Record<Part, bigint>;

export interface Charge {
  energy: Energy;
  emissions: bigint;
}

export interface DayAccount {
  environments: (Scope & Charge)[];
  /** What the machine drew, and no environment is charged with. */
  own: { energy: bigint; emissions: bigint };
}

type Measured = Pick<Usage, 'cpuSeconds' | 'memoryByteSeconds' | 'diskByteSeconds' | 'requestBytes' | 'responseBytes'>;

const hourSeconds = 3600;
const gigabyte = 1e9;
const terabyte = 1e12;
const microPerUnit = 1e6;
/** Grams for a kWh are as many nanograms for a microwatt-hour. */
const nanoPerMicro = 1000;

export const totalOf = (energy: Energy): bigint => parts.reduce((sum, part) => sum + energy[part], 0n);

export function accountOfDay(usage: readonly Usage[], method: Method): DayAccount {
  const hours = new Set(usage.filter(isOfContainers).map(({ hour }) => hour)).size;
  const crowding = crowdingOf(usage, hours, method);
  const environments = [...Map.groupBy(usage, keyOf).values()].flatMap((rows) => {
    const [{ project, environment }] = rows as [Usage];
    const energy = energyOf(summed(rows), crowding, method);
    return totalOf(energy) === 0n ? [] : { project, environment, energy, emissions: emissionsOf(totalOf(energy), method) };
  });
  const charged = environments.reduce((sum, { energy }) => sum + energy.idle + energy.memory, 0n);
  const drawn = micro(hours * drawnAtRest(method) * method.pue);
  const own = drawn > charged ? drawn - charged : 0n;
  return { environments, own: { energy: own, emissions: emissionsOf(own, method) } };
}

const keyOf = ({ project, environment }: Scope) => `${project} ${environment}`;

/** Whether containers were measured in the hour, and hence the machine ran. */
const isOfContainers = ({ cpuSeconds, memoryByteSeconds }: Usage) => cpuSeconds > 0 || memoryByteSeconds > 0;

const drawnAtRest = ({ processors, idle, memory, memoryBytes }: Method) => processors * idle + (memoryBytes / gigabyte) * memory;

function summed(rows: readonly Usage[]): Measured {
  const sum = (name: keyof Measured) => rows.reduce((total, row) => total + row[name], 0);
  return {
    cpuSeconds: sum('cpuSeconds'),
    memoryByteSeconds: sum('memoryByteSeconds'),
    diskByteSeconds: sum('diskByteSeconds'),
    requestBytes: sum('requestBytes'),
    responseBytes: sum('responseBytes'),
  };
}

/** 1, unless more memory was measured than the machine has, as of one that was made smaller on that day: its idle share is given out once all the same. */
function crowdingOf(usage: readonly Usage[], hours: number, { memoryBytes }: Method): number {
  const measured = usage.reduce((sum, { memoryByteSeconds }) => sum + memoryByteSeconds, 0);
  return Math.max(1, measured / (memoryBytes * hourSeconds * Math.max(hours, 1)));
}

function energyOf(measured: Measured, crowding: number, method: Method): Energy {
  const { idle, full, memory, disk, network, pue, processors, memoryBytes } = method;
  const memoryHours = measured.memoryByteSeconds / hourSeconds / crowding;
  const wattHours: Record<Part, number> = {
    processors: (measured.cpuSeconds / hourSeconds) * (full - idle),
    idle: (memoryHours / memoryBytes) * processors * idle,
    memory: (memoryHours / gigabyte) * memory,
    disk: (measured.diskByteSeconds / hourSeconds / terabyte) * disk,
    network: ((measured.requestBytes + measured.responseBytes) / gigabyte) * network,
  };
  return Object.fromEntries(parts.map((part) => [part, micro(wattHours[part] * pue)])) as Energy;
}

const micro = (amount: number) => BigInt(Math.round(amount * microPerUnit));

const emissionsOf = (energy: bigint, { carbonIntensity }: Method) => BigInt(Math.round((Number(energy) * carbonIntensity) / nanoPerMicro));
