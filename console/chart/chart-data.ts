/** The numbers of a chart, before anything is drawn: on top of each other, in words, and as a table. */
import type { Cell } from '../ui/csv.ts';

export interface Series {
  name: string;
  /** 1 to 6 are the colours of series, in order; 0 is everything else. */
  colour: number;
  /** One for each time; null where nothing was measured. */
  values: readonly (number | null)[];
}

export interface ChartData {
  /** Unix seconds at which each point begins. */
  times: readonly number[];
  /** Seconds that each point stands for. */
  grain: number;
  series: readonly Series[];
}

/** How many series have a colour of their own. */
export const coloursMax = 6;

/** Each series with all before it added, so that what stands on top of others ends where the sum of them ends. */
export function stacked(series: readonly Series[]): (number | null)[][] {
  const sums: (number | null)[] = [];
  return series.map(({ values }) =>
    values.map((value, n) => {
      const below = sums[n] ?? null;
      sums[n] = value === null ? below : value + (below ?? 0);
      return sums[n] ?? null;
    }),
  );
}

export const totalOf = ({ values }: Series): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

export const highestOf = ({ values }: Series): number => Math.max(0, ...values.map((value) => value ?? 0));

/** The series with most have the colours; the others are one. `asMuch` decides what most is, and those that are left are added up. */
export function withTheRest(series: readonly Omit<Series, 'colour'>[], asMuch: (series: Series) => number, rest: string): Series[] {
  const ranked = series
    .map((each): Series => ({ ...each, colour: 0 }))
    .toSorted((one, other) => asMuch(other) - asMuch(one))
    .map((each, n) => ({ ...each, colour: n < coloursMax ? n + 1 : 0 }));
  const [own, others] = [ranked.slice(0, coloursMax), ranked.slice(coloursMax)];
  if (others.length === 0) return own;
  const values = (others[0]?.values ?? []).map((_, n) => {
    const known = others.flatMap((each) => each.values[n] ?? []);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });
  return [...own, { name: rest, colour: 0, values }];
}

export const isEmpty = ({ series }: ChartData): boolean =>
  series.every(({ values }) => values.every((value) => value === null || value === 0));

/** What stands at a point, as it is read out: "Nov 17, 2026, 11:05 AM: GET / 1.2 s, POST /pay 3 s". */
export function pointWords({ times, grain, series }: ChartData, at: number, format: (value: number) => string): string {
  const time = times[at];
  if (time === undefined) return '';
  const told = series.flatMap(({ name, values }) => {
    const value = values[at] ?? null;
    return value === null ? [] : [`${name} ${format(value)}`];
  });
  return `${timeWords(time, grain)}: ${told.length === 0 ? 'nothing was measured' : told.join(', ')}`;
}

const toTheMinute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const toTheSecond = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment in the reader's zone, with its seconds where points are closer than a minute: no two of them are told alike. */
export const timeWords = (seconds: number, grain = 60): string => (grain < 60 ? toTheSecond : toTheMinute).format(new Date(seconds * 1000));

/** The exact numbers, with times that any program reads. */
export const tableOf = ({ times, series }: ChartData): Cell[][] => [
  ['time', ...series.map(({ name }) => name)],
  ...times.map((time, n) => [new Date(time * 1000).toISOString(), ...series.map(({ values }) => values[n] ?? null)]),
];
