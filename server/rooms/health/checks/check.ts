/** What a check is: where it looks, what it finds there, and from when on that is too much. */
import type { Sources } from '../sources.ts';

/** All of them in the unit of the check; the higher, the worse. */
export interface Thresholds {
  warning: number;
  critical: number;
  /** What is open ends below this. A distance to `warning` keeps an alert from coming and going with each small change. */
  recovery: number;
}

/** What a check found about one app, service or name; an empty subject stands for the environment as a whole. */
export interface Reading {
  subject: string;
  value: number;
  /** A sentence or two for people. */
  text: string;
  thresholds: Thresholds;
}

export interface Check {
  /** What is wrong, in a few words. */
  title(subject: string): string;
  /** For how long nothing has to be wrong before an alert ends. */
  quietSeconds: number;
  /** Undefined: nobody knows at the moment, so everything stays as it is. */
  readings(sources: Sources): Reading[] | undefined;
}

interface CheckOf<Source extends keyof Sources> extends Omit<Check, 'readings'> {
  source: Source;
  read(found: NonNullable<Sources[Source]>): Reading[];
}

export const check = <Source extends keyof Sources>({ source, read, ...rest }: CheckOf<Source>): Check => ({
  ...rest,
  readings: (sources) => {
    const found = sources[source];
    return found === undefined ? undefined : read(found);
  },
});
