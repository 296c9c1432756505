/** By what energy and carbon are worked out: what the machine is, what it draws, and how clean its electricity is. */
import { availableParallelism, totalmem } from 'node:os';
import type { Config } from '../../config.ts';
import { regionsOf } from '../regions/public.ts';

export interface Method {
  /** Watts of a processor that does nothing. */
  idle: number;
  /** Watts of a processor in full use. */
  full: number;
  /** Watts of a GB of memory. */
  memory: number;
  /** Watts of a TB of disk. */
  disk: number;
  /** Watt-hours for a GB to or from visitors. */
  network: number;
  /** What the building draws for each watt that the machine draws. */
  pue: number;
  /** Grams of CO2 equivalent for a kWh. */
  carbonIntensity: number;
  processors: number;
  memoryBytes: number;
}

export function methodOf(config: Pick<Config, 'energy' | 'region' | 'url'>): Method {
  const [region] = regionsOf(config);
  return {
    ...config.energy,
    carbonIntensity: region?.envimpact.carbon_intensity ?? 0,
    processors: availableParallelism(),
    memoryBytes: totalmem(),
  };
}
