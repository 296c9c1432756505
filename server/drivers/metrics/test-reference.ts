/** The breakdown as anybody would compute it by hand, from all records, and records at random: what every driver's answers are held to. */
import fc from 'fast-check';
import { filterNames, unnamedTransaction, type Breakdown, type BreakdownQuestion, type FilterName, type Filters } from './breakdown.ts';
import type { TransactionRecord } from './metrics.ts';

export const wallTimeSlot = (microseconds: number) =>
  ['0-50', '50-100', '100-200', '200-400', '400-800', '800-1600'].find((name) => microseconds < Number(name.split('-')[1]) * 1000) ??
  '1600+';
const peakMemorySlot = (bytes: number) =>
  ['0-8', '8-16', '16-32', '32-64', '64-128', '128-256'].find((name) => bytes < Number(name.split('-')[1]) * 1024 * 1024) ?? '256+';
const nameOf = ({ transaction }: TransactionRecord) => transaction ?? unnamedTransaction;

export const valuesOf: Record<FilterName, (record: TransactionRecord) => string[]> = {
  contexts: ({ context }) => [context],
  applications: ({ application }) => [application],
  instances: ({ instance }) => [instance],
  transactions: (record) => [nameOf(record)],
  wt_slots: ({ wallTime }) => [wallTimeSlot(wallTime)],
  pmu_slots: ({ peakMemory }) => [peakMemorySlot(peakMemory)],
  http_status_codes: ({ status }) => [String(status), `${String(status)[0]}xx`],
  http_hosts: ({ httpHost }) => [httpHost],
  hosts: ({ host }) => [host],
  frameworks: ({ framework }) => [framework],
  languages: ({ language }) => [language],
  methods: ({ method }) => [method.toLowerCase()],
  runtimes: ({ runtime }) => [runtime],
  oss: ({ os }) => [os],
};

export function isLetThrough(record: TransactionRecord, filters: Filters): boolean {
  return filterNames.every((name) => {
    const filter = filters[name];
    if (!filter) return true;
    const isListed = valuesOf[name](record).some((value) => filter.values.includes(value));
    return filter.mode === 'additive' ? isListed : !isListed;
  });
}

const amountOf = {
  wt: ({ wallTime }: TransactionRecord) => wallTime,
  pmu: ({ peakMemory }: TransactionRecord) => peakMemory,
  stdout: ({ output }: TransactionRecord) => output,
};
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const average = (values: readonly number[]) => sum(values) / values.length;
const isBefore = (one: string, other: string) => (one < other ? -1 : 1);

export function referenceBreakdown(records: readonly TransactionRecord[], question: BreakdownQuestion): Omit<Breakdown, 'isExact'> {
  const { from, to, grain, dimension, sort, limit } = question;
  const amount = amountOf[dimension];
  const matching = records.filter(
    (record) =>
      record.project === question.project &&
      record.environment === question.environment &&
      record.time >= from * 1000 &&
      record.time < to * 1000 &&
      isLetThrough(record, question.filters),
  );
  const total = sum(matching.map(amount));
  const ranked = [...Map.groupBy(matching, nameOf)]
    .map(([name, own]) => ({ name, own, consumed: sum(own.map(amount)) }))
    .toSorted((one, other) => other.consumed - one.consumed || other.own.length - one.own.length || isBefore(one.name, other.name));
  const tops = new Set<string>();
  for (let [nth, percent] = [0, 0]; nth < Math.min(15, ranked.length) && percent < 98; nth += 1) {
    tops.add(ranked[nth]?.name ?? '');
    percent += total > 0 ? (100 * (ranked[nth]?.consumed ?? 0)) / total : 0;
  }
  const rows = ranked.map(({ name, own, consumed }) => ({
    transaction: name,
    wt_96th_percentile: own.map(amountOf.wt).toSorted((one, other) => one - other)[Math.ceil((96 * own.length) / 100) - 1] ?? 0,
    avg_wt: average(own.map(amountOf.wt)),
    avg_pmu: average(own.map(amountOf.pmu)),
    avg_stdout: average(own.map(amountOf.stdout)),
    total_requests: own.length,
    total_requests_unnamed: own.filter(({ transaction }) => transaction === undefined).length,
    total_errors: own.filter(({ status }) => status >= 500).length,
    impact: total > 0 ? (100 * consumed) / total : null,
    top_hit: tops.has(name),
  }));
  const byPoint = Map.groupBy(matching, ({ time }) => Math.floor(time / 1000 / grain) * grain);
  const timeline = [];
  for (let timestamp = Math.floor(from / grain) * grain; timestamp < to; timestamp += grain) {
    const within = byPoint.get(timestamp) ?? [];
    const byTop = [...Map.groupBy(within, nameOf)].filter(([name]) => tops.has(name));
    const transactions = byTop.map(([name, own]) => [name, { average: average(own.map(amount)), count: own.length }] as const);
    timeline.push(
      within.length === 0
        ? { timestamp }
        : {
            timestamp,
            _total_consumed: sum(within.map(amount)),
            _total_count: within.length,
            _transactions: Object.fromEntries(transactions),
          },
    );
  }
  const sorted = rows.toSorted((one, other) => (other[sort] ?? 0) - (one[sort] ?? 0) || isBefore(one.transaction, other.transaction));
  return { rows: sorted.slice(0, limit), timeline };
}

const oneOf = (...values: readonly string[]) => fc.constantFrom(...values);

/** Amounts that are small, of every slot, and at borders of slots. */
const amounts = (unit: number, borders: readonly number[]) =>
  fc.oneof(
    fc.nat(3),
    fc.nat(borders.at(-1)! * 2 * unit),
    fc.constantFrom(...borders.flatMap((border) => [border * unit, border * unit - 1])),
  );

export const scopes = [
  { project: 'shop', environment: 'main-bvxea6i' },
  { project: 'shop', environment: 'feature-abc' },
  { project: "o'neil", environment: 'main-bvxea6i' },
];

/** Within two hours that begin at `start` (Unix seconds). */
export const anyTransaction = (start: number): fc.Arbitrary<TransactionRecord> =>
  fc
    .record({
      scope: fc.constantFrom(...scopes),
      time: fc.integer({ min: start * 1000, max: (start + 7200) * 1000 - 1 }),
      context: fc.constantFrom('web' as const, 'web' as const, 'cli' as const),
      transaction: fc.option(
        oneOf('home', 'cart', 'it\'s "quoted"', 'unnamed', '/produits/é', ...Array.from({ length: 20 }, (_, nth) => `page ${nth}`)),
        {
          nil: undefined,
        },
      ),
      application: oneOf('app', 'api'),
      instance: oneOf('app.0', 'app.1'),
      status: fc.constantFrom(200, 204, 302, 404, 500, 503, 0),
      httpHost: oneOf('example.org', 'www.example.org'),
      host: oneOf('frontend-0.prod', 'frontend-1.prod'),
      framework: oneOf('', 'symfony'),
      language: oneOf('php', 'python'),
      method: oneOf('GET', 'post'),
      runtime: oneOf('PHP 8.4.17 (fpm-fcgi)', 'Python 3.14'),
      os: oneOf('Linux', 'BSD'),
      wallTime: amounts(1000, [50, 100, 200, 400, 800, 1600]),
      peakMemory: amounts(2 ** 20, [8, 16, 32, 64, 128, 256]),
      output: fc.nat(100_000),
    })
    .map(({ scope, ...record }) => ({ ...scope, ...record }));

const filterValues: Record<FilterName, readonly string[]> = {
  contexts: ['web', 'cli'],
  applications: ['app', 'api', 'none'],
  instances: ['app.0', 'app.1'],
  transactions: ['home', 'it\'s "quoted"', 'unnamed', 'page 3', "' or true --"],
  wt_slots: ['0-50', '100-200', '1600+', '7'],
  pmu_slots: ['0-8', '256+'],
  http_status_codes: ['200', '5xx', '4xx', '503', 'abc'],
  http_hosts: ['example.org'],
  hosts: ['frontend-1.prod'],
  frameworks: ['symfony'],
  languages: ['php', 'python'],
  methods: ['get'],
  runtimes: ['Python 3.14'],
  oss: ['Linux'],
};

const anyFilters: fc.Arbitrary<Filters> = fc
  .record(
    Object.fromEntries(
      filterNames.map((name) => [
        name,
        fc.record({ values: fc.subarray([...filterValues[name]]), mode: fc.constantFrom('additive' as const, 'subtractive' as const) }),
      ]),
    ),
    { requiredKeys: [] },
  )
  // Many filters at once let nothing through.
  .map((filters) => Object.fromEntries(Object.entries(filters).slice(0, 2)));

export const anyQuestion = (start: number): fc.Arbitrary<BreakdownQuestion> =>
  fc
    .record({
      scope: fc.constantFrom(...scopes),
      from: fc.oneof(fc.constant(start), fc.integer({ min: start - 100, max: start + 7000 })),
      seconds: fc.constantFrom(1, 600, 3600, 7200),
      grain: fc.constantFrom(1, 7, 60, 300, 3600),
      dimension: fc.constantFrom('wt' as const, 'pmu' as const, 'stdout' as const),
      sort: fc.constantFrom(
        'impact' as const,
        'total_requests' as const,
        'avg_wt' as const,
        'avg_pmu' as const,
        'avg_stdout' as const,
        'total_errors' as const,
      ),
      limit: fc.constantFrom(1, 5, 200),
      filters: anyFilters,
    })
    .map(({ scope, seconds, ...question }) => ({ ...scope, ...question, to: question.from + seconds }));
