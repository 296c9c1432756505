/** What every store of measurements must do. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { percentileError, type Breakdown, type BreakdownQuestion } from './breakdown.ts';
import { isTooMuch, type Metrics, type RequestRecord, type SampleRecord, type TooMuch, type TransactionRecord } from './metrics.ts';
import { facetsConformance } from './test-facets.ts';
import { anyQuestion, anyTransaction, referenceBreakdown, scopes } from './test-reference.ts';

export interface MetricsUnderTest {
  metrics: Metrics;
  /** The same store as another process of the installation has it. Whoever opens it closes it. */
  openAnother(): Metrics;
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
    /** For tests that are each about other kinds of records. */
    let shared: MetricsUnderTest;
    beforeAll(async () => void (shared = await open({})));
    afterAll(() => shared.remove());

    test.each([{ summedUp: false }, { summedUp: true }])(
      'any breakdown of any transactions is what anybody would compute by hand (from sums made earlier: $summedUp)',
      async ({ summedUp }) => {
        const start = testStart();
        const under = await open({ summedUp });
        try {
          const records = fc.sample(anyTransaction(start), { numRuns: 2000, seed: 7 });
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
            { numRuns: 40 },
          );
          expect(found).toBeGreaterThan(50);
        } finally {
          await under.remove();
        }
      },
    );

    test('what nobody has measured is an answer, too', async () => {
      const { metrics } = shared;
      const answer = answered(await metrics.breakdown(questionAbout(testStart(), { grain: 600 })));
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

    test('spans are told with the share of requests that have them, and of the time that they took', async () => {
      const start = testStart();
      const { metrics } = shared;
      const span = (trace: string, name: string, spanTime: number, wallTime: number) => ({
        ...transactionAt(start * 1000, { wallTime }),
        trace,
        span: name,
        label: name.toUpperCase(),
        service: 'database',
        spanTime,
      });
      const spans = [span('a', 'sql', 100, 1000), span('a', 'sql', 300, 1000), span('b', 'sql', 200, 3000), span('b', 'http', 1000, 3000)];
      metrics.append('spans', [...spans, { ...span('c', 'sql', 1, 1), method: 'post' }]);
      await metrics.settled();
      const asked = {
        ...scopes[0]!,
        from: start,
        to: start + 60,
        limit: 10,
        filters: { methods: { values: ['get'], mode: 'additive' } },
      } as const;
      const sql = {
        id: 'sql',
        label: 'SQL',
        service_name: 'database',
        count: 3,
        wt: 200,
        p_96: 300,
        request_wt: 2000,
        percentage: 1,
        impact: 0.15,
      };
      const http = {
        id: 'http',
        label: 'HTTP',
        service_name: 'database',
        count: 1,
        wt: 1000,
        p_96: 1000,
        request_wt: 3000,
        percentage: 0.5,
        impact: 0.25,
      };
      expect(await metrics.topSpans({ ...asked, sort: 'impact' })).toEqual([http, sql]);
      expect(await metrics.topSpans({ ...asked, sort: 'percentage' })).toEqual([sql, http]);
      expect(await metrics.topSpans({ ...asked, sort: 'count', limit: 1 })).toEqual([sql]);
    });

    test('HTTP traffic is told by URL, address and program, with what it filters by', async () => {
      const start = testStart();
      const { metrics } = shared;
      const request = (more: Partial<RequestRecord>): RequestRecord => ({
        ...scopes[0]!,
        time: start * 1000,
        application: 'app',
        domain: 'example.org',
        method: 'GET',
        url: '/',
        ip: '192.0.2.1',
        userAgent: 'browser',
        status: 200,
        wallTime: 1000,
        requestBytes: 10,
        responseBytes: 100,
        ...more,
      });
      const slow = request({ url: '/slow', wallTime: 60_000, status: 503, ip: '192.0.2.2', time: (start + 60) * 1000 });
      metrics.append('requests', [request({}), request({ wallTime: 3000 }), request({ method: 'POST' }), slow]);
      await metrics.settled();
      const asked = { ...scopes[0]!, from: start, to: start + 120, grain: 60, limit: 2, topHits: 1, filters: {} };
      const byUrl = await metrics.traffic({ ...asked, by: 'url' });
      const rows = [
        { name: '/slow', method: 'GET', count: 1, average: 60_000, p_50: 60_000, p_96: 60_000, consumed: 60_000, top_hit: true },
        { name: '/', method: 'GET', count: 2, average: 2000, p_50: 1000, p_96: 3000, consumed: 4000, top_hit: false },
      ];
      const point = { count: 3, consumed: 5000, requestBytes: 30, responseBytes: 300, codes: { 2: 3 }, tops: {} };
      const later = {
        count: 1,
        consumed: 60_000,
        requestBytes: 10,
        responseBytes: 100,
        codes: { 5: 1 },
        tops: { 0: { average: 60_000, count: 1 } },
      };
      const timeline = [
        { timestamp: start, ...point },
        { timestamp: start + 60, ...later },
      ];
      expect(byUrl).toEqual({ rows, distinct: 3, count: 4, consumed: 65_000, timeline });
      const slots = { request_duration_slots: { values: ['50-100'], mode: 'subtractive' } } as const;
      expect(await metrics.traffic({ ...asked, by: 'ip', filters: slots })).toMatchObject({
        rows: [{ name: '192.0.2.1', count: 3 }],
      });
      const codes = { code_slots: { values: ['5xx'], mode: 'additive' } } as const;
      expect(await metrics.traffic({ ...asked, by: 'user_agent', filters: codes })).toMatchObject({ count: 1, distinct: 1 });
    });

    facetsConformance(() => shared.metrics, testStart);

    test('resources are told by service and by instance, over time and over all, and summed up for billing', async () => {
      const start = testStart();
      const { metrics } = shared;
      const measured = { project: 'measured', environment: 'main-bvxea6i' };
      const sample = (time: number, instance: string, cpuUsed: number): SampleRecord => ({
        ...measured,
        time: time * 1000,
        service: 'app',
        instance,
        seconds: 10,
        cpuUsed,
        cpuLimit: 2,
        memoryUsed: 1000,
        memoryLimit: 4000,
        swapUsed: 0,
        swapLimit: 0,
        cpuPressure: 0.5,
        memoryPressure: 0,
        ioPressure: 0,
        irqPressure: 0,
        receivedBytes: 7,
        sentBytes: 8,
      });
      metrics.append('samples', [sample(start, 'app.0', 1), sample(start, 'app.1', 3), sample(start + 60, 'app.0', 2)]);
      const disk = { diskUsed: 50, diskLimit: 100, inodesUsed: 5, inodesLimit: 10 };
      metrics.append('mounts', [
        { ...measured, time: start * 1000, service: 'app', instance: 'app.0', seconds: 10, mount: '/mnt', ...disk },
      ]);
      const elsewhere = { ...measured, environment: 'by-service' };
      metrics.append('mounts', [
        { ...elsewhere, time: start * 1000, service: 'app', instance: 'app.0', seconds: 10, mount: '/mnt', ...disk },
        { ...elsewhere, time: start * 1000, service: 'app', instance: 'app.0', seconds: 10, mount: '/tmp', ...disk },
      ]);
      metrics.append('samples', [
        { ...sample(start, 'app.0', 1), ...elsewhere },
        { ...sample(start, 'db.0', 3), ...elsewhere, service: 'db' },
      ]);
      await metrics.settled();
      const asked = { ...measured, from: start, to: start + 120 };
      const overTime = await metrics.resources({ ...asked, grain: 60, byInstance: false });
      expect(overTime).toMatchObject([
        {
          timestamp: start,
          service: 'app',
          used: { cpu_used: { min: 1, max: 3, avg: 2, stddev: 1, p50: 1, p99: 3 } },
          limits: { cpu_limit: 2 },
        },
        { timestamp: start + 60, used: { cpu_used: { avg: 2, stddev: 0 }, cpu_pressure: { max: 0.5 } } },
        { timestamp: start, mount: '/mnt', used: { disk_used: { avg: 50 } }, limits: { inodes_limit: 10 } },
      ]);
      const others = { values: ['app'], mode: 'subtractive' } as const;
      expect(await metrics.resources({ ...asked, byInstance: true, services: others })).toEqual([]);
      const instances = await metrics.resources({ ...asked, byInstance: true });
      expect(isTooMuch(instances) || instances.map(({ instance, mount }) => [instance, mount])).toEqual([
        ['app.0', undefined],
        ['app.1', undefined],
        ['app.0', '/mnt'],
      ]);
      const hour = Math.floor(start / 3600) * 3600;
      const usage = {
        hour,
        transactions: 0,
        requests: 0,
        cpuSeconds: 60,
        memoryByteSeconds: 30_000,
        diskByteSeconds: 500,
        receivedBytes: 21,
        sentBytes: 24,
      };
      const ofAll = await metrics.usage({ from: hour, to: hour + 7200 });
      expect(
        ofAll.filter(({ project, environment }) => project === measured.project && environment === measured.environment),
      ).toMatchObject([{ ...measured, ...usage }]);
      expect(await metrics.usage({ from: hour, to: hour + 7200, scope: scopes[1] })).toEqual([]);
      expect(await metrics.usage({ from: hour, to: hour + 7200, scope: elsewhere, byService: true })).toMatchObject([
        { service: 'app', cpuSeconds: 10, diskByteSeconds: 1000, storedByteSeconds: 500 },
        { service: 'db', cpuSeconds: 30, diskByteSeconds: 0, storedByteSeconds: 0 },
      ]);
    });

    test('two processes append and ask at the same time; whoever kills the store under both loses nothing of either, and counts nothing twice', async () => {
      const start = testStart();
      await using under = await opened(open, {});
      const all = [under.metrics, under.openAnother()];
      const question = questionAbout(start, { to: start + 7200 });
      const requestsSeenBy = async (metrics: Metrics) => answered(await metrics.breakdown(question)).rows[0]?.total_requests;
      try {
        for (let round = 1; round <= 2; round += 1) {
          for (const metrics of all)
            metrics.append(
              'transactions',
              Array.from({ length: 500 }, (_, nth) => transactionAt(start * 1000 + nth)),
            );
          const asked = all.map((metrics) => metrics.breakdown(question));
          if (round === 2) under.kill?.();
          await Promise.all([...asked, ...all.map((metrics) => metrics.settled())]);
          expect(await Promise.all(all.map(requestsSeenBy))).toEqual([1000 * round, 1000 * round]);
        }
        for (const metrics of all) expect(metrics.status().kinds.transactions).toEqual({ stored: 1000, waiting: 0, dropped: 0 });
      } finally {
        await all[1]?.close();
      }
    });

    test('whoever kills the store while records come and questions are asked loses none and counts none twice', async ({ skip }) => {
      const start = testStart();
      await using under = await opened(open, {});
      const { kill } = under;
      if (!kill) return skip();
      const question = questionAbout(start, { to: start + 7200 });
      let appended = 0;
      for (let round = 0; round < 2; round += 1) {
        const more = Array.from({ length: 500 }, () => transactionAt(start * 1000 + (appended += 1)));
        under.metrics.append('transactions', more);
        const asked = under.metrics.breakdown(question);
        if (round % 2 === 0) await asked;
        kill();
        await asked;
        await under.metrics.settled();
        expect(answered(await under.metrics.breakdown(question)).rows[0]?.total_requests).toBe(appended);
      }
      expect(under.metrics.status()).toMatchObject({ starts: 3, kinds: { transactions: { stored: 1000, dropped: 0 } } });
    });
  });
}

async function opened(open: (bounds: MetricsBounds) => Promise<MetricsUnderTest>, bounds: MetricsBounds) {
  const under = await open(bounds);
  return { ...under, [Symbol.asyncDispose]: () => under.remove() };
}
