/** What every store of measurements must do. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { percentileError, type Breakdown, type BreakdownQuestion } from './breakdown.ts';
import { isTooMuch, type Metrics, type TooMuch, type TransactionRecord } from './metrics.ts';
import { anyQuestion, anyTransaction, referenceBreakdown, scopes } from './test-reference.ts';

export interface MetricsUnderTest {
  metrics: Metrics;
  /** Ends the store's process at once and as rudely as can be, if it has one. */
  kill?: () => void;
  remove(): Promise<void>;
}

export interface MetricsBounds {
  /** Everything that can be summed up ahead is, and answers are made of that. */
  summedUp?: boolean;
  recordsMax?: number;
}

/** An hour that is over, yesterday at ten to midnight: questions reach over two days. */
export const testStart = () => (Math.floor(Date.now() / 1000 / 86_400) - 1) * 86_400 + 23 * 3600 + 3000 - 3600;

export const transactionAt = (time: number, more: Partial<TransactionRecord> = {}): TransactionRecord => ({
  ...scopes[0]!,
  time,
  context: 'web',
  transaction: 'home',
  application: 'app',
  instance: 'app.0',
  status: 200,
  httpHost: 'example.org',
  host: 'frontend-0.prod',
  framework: 'symfony',
  language: 'php',
  method: 'get',
  runtime: 'PHP 8.4.17 (fpm-fcgi)',
  os: 'Linux',
  wallTime: 1000,
  peakMemory: 2 ** 20,
  output: 10,
  ...more,
});

export const questionAbout = (from: number, more: Partial<BreakdownQuestion> = {}): BreakdownQuestion => ({
  ...scopes[0]!,
  from,
  to: from + 3600,
  grain: 60,
  dimension: 'wt',
  sort: 'impact',
  limit: 200,
  filters: {},
  ...more,
});

export function answered(answer: Breakdown | TooMuch): Breakdown {
  if (isTooMuch(answer)) throw new Error(`too much: ${JSON.stringify(answer)}`);
  return answer;
}

/** All but percentiles is exact; sums of floats may differ in their last digits. */
function expectSame(answer: Breakdown, wanted: Omit<Breakdown, 'isExact'>) {
  const close = (value: unknown): unknown =>
    typeof value === 'number'
      ? Number(value.toPrecision(12))
      : Array.isArray(value)
        ? value.map(close)
        : value && typeof value === 'object'
          ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, close(each)]))
          : value;
  const withoutPercentiles = ({ rows, timeline }: Omit<Breakdown, 'isExact'>) =>
    close({ rows: rows.map((row) => ({ ...row, wt_96th_percentile: 0 })), timeline });
  expect(withoutPercentiles(answer)).toEqual(withoutPercentiles(wanted));
  for (const [nth, row] of answer.rows.entries()) {
    const exact = wanted.rows[nth]?.wt_96th_percentile ?? -1;
    const allowed = answer.isExact ? 0 : exact * percentileError + 1e-9;
    expect(Math.abs(row.wt_96th_percentile - exact)).toBeLessThanOrEqual(allowed);
  }
}

export function metricsConformance(name: string, open: (bounds: MetricsBounds) => Promise<MetricsUnderTest>) {
  describe(`measurements in ${name}`, () => {
    test.each([{ summedUp: false }, { summedUp: true }])(
      'any breakdown of any transactions is what anybody would compute by hand (from sums made earlier: $summedUp)',
      async ({ summedUp }) => {
        const start = testStart();
        const under = await open({ summedUp });
        try {
          const records = fc.sample(anyTransaction(start), { numRuns: 3000, seed: 7 });
          for (let from = 0; from < records.length; from += 700) {
            under.metrics.append('transactions', records.slice(from, from + 700));
            await under.metrics.settled();
          }
          const whole = questionAbout(start, { to: start + 7200 });
          await expect.poll(async () => answered(await under.metrics.breakdown(whole)).isExact).toBe(!summedUp);
          let found = 0;
          await fc.assert(
            fc.asyncProperty(anyQuestion(start), async (question) => {
              const answer = answered(await under.metrics.breakdown(question));
              expectSame(answer, referenceBreakdown(records, question));
              found += answer.rows.length;
            }),
            { numRuns: 60 },
          );
          expect(found).toBeGreaterThan(100);
        } finally {
          await under.remove();
        }
      },
    );

    test('what nobody has measured is an answer, too', async () => {
      await using under = await opened(open, {});
      const answer = answered(await under.metrics.breakdown(questionAbout(testStart(), { grain: 600 })));
      expect(answer.rows).toEqual([]);
      expect(answer.timeline.map((point) => Object.keys(point))).toEqual(Array.from({ length: 6 }, () => ['timestamp']));
    });

    test('a question for which too much would be read is refused before anything is read', async () => {
      const start = testStart();
      await using under = await opened(open, { recordsMax: 10 });
      under.metrics.append(
        'transactions',
        Array.from({ length: 11 }, (_, nth) => transactionAt(start * 1000 + nth)),
      );
      await under.metrics.settled();
      const refusal = { tooMuch: { what: 'records', asked: 11, most: 10 } };
      expect(await under.metrics.breakdown(questionAbout(start))).toEqual(refusal);
      expect(await under.metrics.breakdown(questionAbout(start, scopes[1]))).toHaveProperty('rows', []);
      expect(await under.metrics.breakdown(questionAbout(start, { to: start + 15 * 86_400 }))).toHaveProperty('tooMuch.what', 'seconds');
      expect(await under.metrics.breakdown(questionAbout(start, { to: start + 86_400, grain: 1 }))).toHaveProperty(
        'tooMuch.what',
        'points',
      );
    });

    test('what comes late is counted, also in an hour that has been summed up', async () => {
      const start = testStart();
      await using under = await opened(open, { summedUp: true });
      const many = Array.from({ length: 100 }, (_, nth) => transactionAt(start * 1000 + nth * 1000));
      under.metrics.append('transactions', many);
      await under.metrics.settled();
      const whole = questionAbout(start, { to: start + 7200 });
      await expect.poll(async () => answered(await under.metrics.breakdown(whole)).isExact).toBe(false);
      under.metrics.append('transactions', [transactionAt(start * 1000 + 5)]);
      await under.metrics.settled();
      expect(answered(await under.metrics.breakdown(whole)).rows[0]?.total_requests).toBe(101);
    });

    test('hostile records break nothing: absurd numbers, long names, more names than anybody has', async () => {
      const start = testStart();
      await using under = await opened(open, {});
      const hostile: Partial<TransactionRecord>[] = [
        { wallTime: Number.NaN, peakMemory: -1, output: Number.POSITIVE_INFINITY },
        { status: 1e9 },
        { status: -3 },
        { transaction: 'x'.repeat(1e6) },
        { transaction: '"; drop table records; --\u0000' },
        { time: 0 },
        { time: Number.NaN },
        { time: 1e15 },
      ];
      under.metrics.append(
        'transactions',
        hostile.map((more) => transactionAt(start * 1000, more)),
      );
      await under.metrics.settled();
      expect(under.metrics.status().kinds.transactions).toEqual({ stored: 5, waiting: 0, dropped: 3 });
      const { rows } = answered(await under.metrics.breakdown(questionAbout(start)));
      expect(rows.reduce((sum, row) => sum + row.total_requests, 0)).toBe(5);
    });

    test('whoever kills the store while records come and questions are asked loses none and counts none twice', async ({ skip }) => {
      const start = testStart();
      await using under = await opened(open, {});
      const { kill } = under;
      if (!kill) return skip();
      const question = questionAbout(start, { to: start + 7200 });
      let appended = 0;
      for (let round = 0; round < 4; round += 1) {
        const more = Array.from({ length: 500 }, () => transactionAt(start * 1000 + (appended += 1)));
        under.metrics.append('transactions', more);
        const asked = under.metrics.breakdown(question);
        if (round % 2 === 0) await asked;
        kill();
        await asked;
        await under.metrics.settled();
        expect(answered(await under.metrics.breakdown(question)).rows[0]?.total_requests).toBe(appended);
      }
      expect(under.metrics.status()).toMatchObject({ starts: 5, kinds: { transactions: { stored: 2000, dropped: 0 } } });
    });
  });
}

async function opened(open: (bounds: MetricsBounds) => Promise<MetricsUnderTest>, bounds: MetricsBounds) {
  const under = await open(bounds);
  return { ...under, [Symbol.asyncDispose]: () => under.remove() };
}
