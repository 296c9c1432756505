import { expect, test } from 'vitest';
import { csvOf } from '../ui/csv.ts';
import { isEmpty, pointWords, stacked, tableOf, totalOf, withTheRest, type Series } from './chart-data.ts';

const series = (name: string, ...values: (number | null)[]): Series => ({ name, colour: 1, values });

test('what is stacked begins where the series below it ends, also where that was not measured', () => {
  expect(stacked([series('a', 1, null, 2), series('b', 3, 4, null), series('c', null, null, 5)])).toEqual([
    [1, null, 2],
    [4, 4, 2],
    [4, 4, 7],
  ]);
});

test('the largest have a colour of their own, and all others together are one series', () => {
  const many = Array.from({ length: 9 }, (_, n) => ({ name: `s${n}`, values: [n, n === 0 ? null : n] }));
  const shown = withTheRest(many, totalOf, 'the rest');
  expect(shown.map(({ name, colour }) => [name, colour])).toEqual([
    ['s8', 1],
    ['s7', 2],
    ['s6', 3],
    ['s5', 4],
    ['s4', 5],
    ['s3', 6],
    ['the rest', 0],
  ]);
  expect(shown.at(-1)?.values).toEqual([3, 3]);
});

test('a point is read out with its time and every value that there is', () => {
  const chart = { times: [0, 60], grain: 60, series: [series('a', 1, null), series('b', 2, null)] };
  expect(pointWords(chart, 0, (value) => `${value} ms`)).toMatch(/: a 1 ms, b 2 ms$/);
  expect(pointWords(chart, 1, String)).toMatch(/: nothing was measured$/);
  expect(isEmpty(chart)).toBe(false);
  expect(isEmpty({ ...chart, series: [series('a', 0, null)] })).toBe(true);
});

test('a CSV file has exact numbers, and names that nobody can make a formula or another column of', () => {
  const chart = { times: [0], grain: 60, series: [series('GET /a,b "c"', 0.125), series('=HYPERLINK("x")', null)] };
  expect(csvOf(tableOf(chart))).toBe('time,"GET /a,b ""c""","\'=HYPERLINK(""x"")"\r\n1970-01-01T00:00:00.000Z,0.125,\r\n');
});
