/** What every store must answer about the values there are to filter by: what anybody would count by hand. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { filterNames } from './breakdown.ts';
import type { Facet } from './facets.ts';
import { isTooMuch, type Metrics, type RequestRecord, type SpanRecord, type TooMuch } from './metrics.ts';
import { trafficFilterNames } from './questions.ts';
import { anyQuestion, anyTransaction, isLetThrough, valuesOf, wallTimeSlot } from './test-reference.ts';

const valuesMax = 5;

const requestValues = ({ application, method, domain, status, wallTime }: RequestRecord) => ({
  applications: application,
  methods: method.toUpperCase(),
  domains: domain,
  code_slots: `${Math.floor(status / 100)}XX`,
  codes: String(status),
  request_duration_slots: wallTimeSlot(wallTime),
});

function counted(names: readonly string[], records: readonly ((name: string) => string)[]): Facet[] {
  return names.flatMap((name) => {
    const counts = [
      ...Map.groupBy(
        records.map((valueOf) => valueOf(name)).filter((value) => value !== ''),
        (value) => value,
      ),
    ].map(([value, own]) => ({ value, count: own.length }));
    const values = counts.toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1)).slice(0, valuesMax);
    return counts.length === 0 ? [] : [{ name, distinct: counts.length, values }];
  });
}

const answered = (facets: Facet[] | TooMuch) => {
  if (isTooMuch(facets)) throw new Error('too much');
  return facets;
};

export function facetsConformance(opened: () => Metrics, start: () => number) {
  test('what spans and requests can be filtered by is counted as by hand', async () => {
    const from = start();
    const metrics = opened();
    const scope = { project: 'facets', environment: 'main-bvxea6i' };
    const transactions = fc.sample(anyTransaction(from), { numRuns: 400, seed: 3 }).map((record) => ({ ...record, ...scope }));
    const spans = transactions.map((record, nth): SpanRecord => ({
      ...record,
      trace: String(nth),
      span: 'query',
      label: 'query',
      service: 'db',
      spanTime: 1,
    }));
    const others = { url: '/', ip: '192.0.2.1', userAgent: 'browser', requestBytes: 1, responseBytes: 1 };
    const requests = transactions.map(({ httpHost, ...record }): RequestRecord => ({ ...record, ...others, domain: httpHost }));
    metrics.append('spans', spans);
    metrics.append('requests', requests);
    await metrics.settled();
    const range = { from, to: from + 7200 };
    for (const { filters } of fc.sample(anyQuestion(from), { numRuns: 10, seed: 5 })) {
      const within = spans.filter((span) => isLetThrough(span, filters));
      const facets = await metrics.facets({ ...scope, ...range, of: 'spans', filters, valuesMax });
      const valueOf = within.map((span) => (name: string) => valuesOf[name as (typeof filterNames)[number]](span)[0] ?? '');
      expect(answered(facets)).toEqual(counted(filterNames, valueOf));
    }
    const filters = { code_slots: { values: ['2XX'], mode: 'subtractive' } } as const;
    const within = requests.map(requestValues).filter(({ code_slots }) => code_slots !== '2XX');
    const facets = await metrics.facets({ ...scope, ...range, of: 'requests', filters, valuesMax });
    const valueOf = within.map((values) => (name: string) => values[name as (typeof trafficFilterNames)[number]]);
    expect(answered(facets)).toEqual(counted(trafficFilterNames, valueOf));
    expect(await metrics.facets({ ...scope, ...range, project: 'nobody', of: 'requests', filters: {}, valuesMax })).toEqual([]);
    expect(await metrics.facets({ ...scope, from: 0, to: range.to, of: 'requests', filters: {}, valuesMax })).toHaveProperty('tooMuch');
  });
}
