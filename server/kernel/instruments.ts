/**
 * What the platform counts about itself, and how that is written down: the text format of Prometheus, version 0.0.4. A few dozen lines in place of a library, because a scrape asks for most values
 * afresh (of the database, the edge, the machine), and only what happens between two scrapes is counted here. Labels take values from lists that are known ahead: no name of a project, a host or a person.
 */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  suffix?: '_bucket' | '_sum' | '_count';
  labels?: Labels;
  value: number;
}

export interface Family {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram' | 'summary';
  samples: readonly Sample[];
}

export const textFormat = 'text/plain; version=0.0.4; charset=utf-8';

export const writeFamilies = (families: readonly Family[]): string =>
  families
    .filter(({ samples }) => samples.length > 0)
    .map(writeFamily)
    .join('');

const writeFamily = ({ name, help, type, samples }: Family) =>
  [
    `# HELP ${name} ${help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`)}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${writeLabels(labels)} ${writeValue(value)}`),
    '',
  ].join('\n');

const escaped: Record<string, string> = { '\\': String.raw`\\`, '\n': String.raw`\n`, '"': String.raw`\"` };

function writeLabels(labels: Labels) {
  const written = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replaceAll(/[\\\n"]/g, (character) => escaped[character] ?? '')}"`,
  );
  return written.length === 0 ? '' : `{${written.join(',')}}`;
}

const writeValue = (value: number) => (value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value));

/** A gauge without labels, or one for each of a list. */
export const gauge = (name: string, help: string, samples: number | readonly Sample[]): Family => ({
  name,
  help,
  type: 'gauge',
  samples: typeof samples === 'number' ? [{ value: samples }] : samples,
});

type Names = readonly string[];

const labelled = (names: Names, values: Names): Labels => Object.fromEntries(names.map((name, nth) => [name, values[nth] ?? '']));

/** One cell for each combination of values, found again by them. */
function cellsOf<Cell>(names: Names, make: () => Cell) {
  const cells = new Map<string, { labels: Labels; cell: Cell }>();
  return {
    of: (values: Names): Cell => {
      const key = values.join('\0');
      const known = cells.get(key);
      if (known) return known.cell;
      const made = { labels: labelled(names, values), cell: make() };
      cells.set(key, made);
      return made.cell;
    },
    all: () => [...cells.values()],
  };
}

export interface Counter {
  add(values: Names, by?: number): void;
  family(): Family;
}

export function openCounter(name: string, help: string, labels: Names): Counter {
  const cells = cellsOf(labels, () => ({ value: 0 }));
  return {
    add: (values, by = 1) => void (cells.of(values).value += by),
    family: () => ({
      name,
      help,
      type: 'counter',
      samples: cells.all().map(({ labels: its, cell }) => ({ labels: its, value: cell.value })),
    }),
  };
}

export interface Histogram {
  observe(values: Names, seconds: number): void;
  family(): Family;
}

/** Counts what was not above each bound, as Prometheus adds such counts up. */
export function openHistogram(name: string, help: string, labels: Names, bounds: readonly number[]): Histogram {
  const cells = cellsOf(labels, () => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  return {
    observe: (values, seconds) => {
      const cell = cells.of(values);
      const within = bounds.findIndex((bound) => seconds <= bound);
      if (within >= 0) cell.counts[within] = (cell.counts[within] ?? 0) + 1;
      cell.sum += seconds;
      cell.count += 1;
    },
    family: () => ({
      name,
      help,
      type: 'histogram',
      samples: cells.all().flatMap(({ labels: its, cell }) => samplesOf(its, bounds, cell)),
    }),
  };
}

function samplesOf(
  labels: Labels,
  bounds: readonly number[],
  { counts, sum, count }: { counts: number[]; sum: number; count: number },
): Sample[] {
  let below = 0;
  const buckets = bounds.map((bound, nth) => ({ le: String(bound), value: (below += counts[nth] ?? 0) }));
  return [
    ...[...buckets, { le: '+Inf', value: count }].map(({ le, value }) => ({
      suffix: '_bucket' as const,
      labels: { ...labels, le },
      value,
    })),
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ];
}
