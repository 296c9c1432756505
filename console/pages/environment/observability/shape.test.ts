import { expect, test } from 'vitest';
import type { TransactionRow } from '../../../api/observability-queries.ts';
import { consumedOverTime, disksOverTime, requestsOverTime, sumsOf, usedOverTime, usesOf } from './shape.ts';

const asked = { _from: 0, _to: 180, _grain: 60 };
const row = (transaction: string, impact: number, more: Partial<TransactionRow> = {}): TransactionRow => ({
  transaction,
  impact,
  top_hit: true,
  wt_96th_percentile: 0,
  avg_wt: 100,
  avg_pmu: 0,
  avg_stdout: 0,
  total_requests: 10,
  total_errors: 1,
  _links: { top_spans: { href: '' } },
  ...more,
});

test('the timeline has the most consuming transactions in order of impact, and what all others took', () => {
  const breakdown = {
    ...asked,
    _breakdown_dimension: 'wt' as const,
    transactions: { data: [row('/slow', 20, { total_requests: 2, avg_wt: 400 }), row('/', 70), row('/rare', 10, { top_hit: false })] },
    top_hits_timeline: {
      data: [
        {
          timestamp: 0,
          _total_consumed: 1000,
          _total_count: 5,
          _transactions: { '/': { average: 200, count: 3 }, '/slow': { average: 300, count: 1 } },
        },
        { timestamp: 60 },
        { timestamp: 120, _total_consumed: 50, _total_count: 1, _transactions: { '/': { average: 50, count: 1 } } },
      ],
    },
  };
  expect(consumedOverTime(breakdown)).toEqual({
    times: [0, 60, 120],
    grain: 60,
    series: [
      { name: '/', colour: 1, values: [600, null, 50] },
      { name: '/slow', colour: 2, values: [300, null, 0] },
      { name: 'all others', colour: 0, values: [100, null, 0] },
    ],
  });
  expect(sumsOf(breakdown)).toEqual({ requests: 22, errors: 3, average: (10 * 100 + 2 * 400 + 10 * 100) / 22 });
});

test('requests are shown by kind of status, without kinds that did not occur', () => {
  const traffic = {
    ...asked,
    breakdown: { total: 0, data: [] },
    top_hits_timeline: { data: [{ timestamp: 0, codes: { '2XX': 3, '5XX': 1 } }, { timestamp: 60 }] },
  };
  expect(requestsOverTime(traffic).series).toEqual([
    { name: '2xx', colour: 1, values: [3, null] },
    { name: '5xx', colour: 5, values: [1, null] },
  ]);
});

test('containers are told apart, with the highest that each came to of what it may use', () => {
  const app = { cpu_used: { avg: 0.1, max: 0.4 }, cpu_limit: { max: 0.5 }, cpu_pressure: { avg: 0.01, max: 0.2 } };
  const mount = (used: number) => ({ disk_used: { avg: used, max: used }, disk_limit: { max: 100 } });
  const overview = {
    ...asked,
    data: [
      { timestamp: 0, services: { app: { ...app, mountpoints: { '/var': mount(10), '/tmp': mount(1) } }, db: { cpu_used: {} } } },
      { timestamp: 60 },
    ],
  } as unknown as Parameters<typeof usesOf>[0];
  expect(usedOverTime(overview, 'cpu_used').series).toEqual([
    { name: 'app', colour: 1, values: [0.1, null] },
    { name: 'db', colour: 2, values: [null, null] },
  ]);
  expect(disksOverTime(overview).series.map(({ name }) => name)).toEqual(['app /var', 'app /tmp']);
  expect(usesOf(overview)[0]).toEqual({
    service: 'app',
    cpu: { used: 0.4, limit: 0.5 },
    memory: { used: undefined, limit: undefined },
    disk: { used: 11, limit: 200 },
    pressure: { cpu: 0.2, memory: 0, io: 0 },
  });
});
