import { expect, test } from 'vitest';
import { filterNames, type Breakdown } from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import { breakdownReply } from './breakdown-reply.ts';
import { parseBreakdownRequest, type BreakdownRequest } from './breakdown-request.ts';

const now = 1_800_000_000;
const range = `from=${now - 3600}&to=${now}`;

function understood(query: string): BreakdownRequest {
  const request = parseBreakdownRequest(query, now);
  if ('violations' in request) throw new Error(JSON.stringify(request.violations));
  return request;
}

const violationsOf = (query: string) => {
  const request = parseBreakdownRequest(query, now);
  return 'violations' in request ? request.violations : {};
};

test('from and to are enough: everything else has a default', () => {
  const { filters, ...request } = understood(range);
  expect(request).toEqual({ from: now - 3600, to: now, grain: 30, dimension: 'wt', sort: 'impact', limit: 200, distributionCost: 'wt' });
  const { contexts, ...others } = filters;
  expect(contexts).toEqual({ values: ['web'], mode: 'additive' });
  expect(Object.values(others)).toEqual(filterNames.slice(1).map(() => ({ values: [], mode: 'subtractive' })));
});

test('arrays are written with and without places, and the mode follows from whether there are values', () => {
  const { filters } = understood(
    `${range}&methods[]=get&methods[]=post&hosts[0]=a&hosts%5B1%5D=b&hosts[]=a&oss[]=Linux&oss_mode=-1&runtimes_mode=1`,
  );
  expect(filters.methods).toEqual({ values: ['get', 'post'], mode: 'additive' });
  expect(filters.hosts).toEqual({ values: ['a', 'b'], mode: 'additive' });
  expect(filters.oss).toEqual({ values: ['Linux'], mode: 'subtractive' });
  expect(filters.runtimes).toEqual({ values: [], mode: 'additive' });
});

test('contexts are only web unless something is said of them', () => {
  expect(understood(`${range}&contexts[]=cli`).filters.contexts).toEqual({ values: ['cli'], mode: 'additive' });
  expect(understood(`${range}&contexts_mode=-1`).filters.contexts).toEqual({ values: [], mode: 'subtractive' });
});

test('every rule that is broken is told under its parameter, all at once', () => {
  expect(violationsOf('')).toEqual({ from: ['This value is required.'], to: ['This value is required.'] });
  const query = `from=${now}&to=${now}&grain=0&breakdown_limit=301&sort=name&breakdown_dimension=cpu&distribution_cost=stdout&contexts[]=ssh&hosts_mode=2`;
  expect(violationsOf(query)).toEqual({
    from: ['The from timestamp must be in the past.'],
    to: ['The to timestamp must be greater than the from timestamp.'],
    grain: ['This value should be at least 1.'],
    breakdown_limit: ['This value should be between 1 and 300.'],
    sort: ['This value should be one of impact, total_requests, avg_wt, avg_pmu, avg_stdout, total_errors, wt_96th_percentile.'],
    breakdown_dimension: ['This value should be one of wt, pmu, stdout.'],
    distribution_cost: ['This value should be one of wt, pmu.'],
    contexts: ['Each value should be one of web, cli.'],
    hosts_mode: ['This value should be one of 1, -1.'],
  });
  expect(violationsOf(`${range}&grain=3601`)).toEqual({ grain: ['Grain can not be larger than the selection windows.'] });
  expect(violationsOf('from=1.5&to=x&grain=')).toEqual(
    Object.fromEntries(['from', 'to', 'grain'].map((name) => [name, ['This value should be of type integer.']])),
  );
  expect(violationsOf(`${range}&hosts_mode=constructor`)).toHaveProperty('hosts_mode');
});

test('a grain that nobody has asked for makes some hundred points, and is never larger than the range', () => {
  const points = [3, 60, 3600, 86_400, 14 * 86_400].map((seconds) => grainOf({ from: 0, to: seconds }));
  expect(points).toEqual([3, 5, 30, 300, 3600]);
});

test('the reply tells how the request was understood, each filter with its mode, and links that lead on', () => {
  const row = { transaction: 'a b&c', wt_96th_percentile: 1, avg_wt: 1, avg_pmu: 1, avg_stdout: 1 };
  const counted = { total_requests: 1, total_requests_unnamed: 0, total_errors: 0, impact: 100, top_hit: true };
  const answer: Breakdown = { rows: [{ ...row, ...counted }], timeline: [{ timestamp: 0 }], isExact: true };
  const environment = {
    agent: '0',
    projectId: 'p',
    environmentId: 'main',
    machineName: 'main-bvxea6i',
    type: 'production',
    observability: 'https://api/observability',
  };
  const reply = breakdownReply(environment, understood(`${range}&wt_slots[]=0-50&breakdown_limit=300`), answer);
  expect(reply).toMatchObject({
    _contexts: ['web'],
    _contexts_mode: 'additive',
    _wt_slot: ['0-50'],
    _wt_slot_mode: 'additive',
    _pmu_slot: [],
    _pmu_slot_mode: 'subtractive',
    _breakdown_limit: 300,
    _breakdown_top_hits: { max_quantity: 15, max_percentage: 98 },
    top_hits_timeline: { data: [{ timestamp: 0 }] },
  });
  expect(Object.keys(reply).filter((name) => name.endsWith('_mode')).length).toBe(14);
  expect(reply.transactions.data[0]?._links.top_spans.href).toBe(
    `https://api/observability/server/top-spans?transactions%5B0%5D=a%20b%26c&from=${now - 3600}&to=${now}`,
  );
});
