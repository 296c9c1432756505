import { expect, test } from 'vitest';
import { queryText } from '../../../api/observability-queries.ts';
import { askedFilters, filtersIn, rangeOf, readView, withoutFilter, withRange, withValue, withView } from './view.ts';

test('an address says what is looked at, and whatever else stands in it is left out', () => {
  const given = { view: 'http', from: '100', to: 200, last: '1h', methods: ['GET', 3], methods_mode: -1, sort: 'password', other: 'x' };
  expect(readView(given)).toEqual({ view: 'http', from: 100, to: 200, methods: ['GET', '3'], methods_mode: -1 });
  expect(readView({ from: 200, to: 100, last: '1d', applications: 'shop' })).toEqual({ last: '1d', applications: ['shop'] });
  expect(readView(readView(given))).toEqual(readView(given));
});

test('the time ends with the minute that goes on, unless it is fixed', () => {
  expect(rangeOf({}, 90_000)).toEqual({ from: 120 - 6 * 3600, to: 120 });
  expect(rangeOf({ last: '1h' }, 119_999)).toEqual({ from: 120 - 3600, to: 120 });
  expect(rangeOf(withRange({ last: '1h' }, { from: 5, to: 9 }), 90_000)).toEqual({ from: 5, to: 9 });
  expect(withRange({ from: 5, to: 9, sort: 'avg_wt' }, '1d')).toEqual({ last: '1d', sort: 'avg_wt' });
});

test('filters are added to, turned around and taken back, and are asked as the API takes them', () => {
  const two = withValue(withValue({}, 'methods', 'GET', false), 'methods', 'POST', false);
  expect(two).toEqual({ methods: ['GET', 'POST'] });
  const turned = withValue(two, 'methods', 'GET', true);
  expect(turned).toEqual({ methods: ['GET'], methods_mode: -1 });
  expect(queryText(askedFilters(turned))).toBe('methods%5B%5D=GET&methods_mode=-1&contexts%5B%5D=web');
  const [methods, contexts] = filtersIn(turned);
  expect([methods, contexts].map((filter) => filter && withoutFilter(turned, filter))).toEqual([
    {},
    { ...turned, contexts: ['web', 'cli'] },
  ]);
});

test('whoever looks at something else keeps the time, and the filters that it has, too', () => {
  const view = withValue(withValue({ last: '1h', sort: 'avg_wt' }, 'methods', 'GET', true), 'transactions', '/', false);
  expect(withView(view, 'http')).toEqual({ view: 'http', last: '1h', methods: ['GET'], methods_mode: -1 });
  expect(withView(withView(view, 'http'), 'transactions')).toEqual({ last: '1h', methods: ['GET'], methods_mode: -1 });
});
