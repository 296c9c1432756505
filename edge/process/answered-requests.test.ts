import { expect, test } from 'vitest';
import { countAnswer, noneAnswered, openAnsweredSum } from './answered-requests.ts';

const afterAnswering = (...statuses: number[]) => {
  const answered = noneAnswered();
  for (const status of statuses) countAnswer(answered, status);
  return answered;
};

test('answers are counted by the class of their status; what is no status counts nowhere', () => {
  expect(afterAnswering(101, 200, 204, 302, 404, 499, 502, 0, 999)).toEqual({ '1xx': 1, '2xx': 2, '3xx': 1, '4xx': 2, '5xx': 1 });
});

test('the sum of all processes never falls, also when one has ended and another has come, or one did not answer in time', () => {
  const sumOf = openAnsweredSum();
  const sums = [
    [
      { pid: 1, answered: afterAnswering(200, 200) },
      { pid: 2, answered: afterAnswering(200) },
    ],
    [{ pid: 2, answered: afterAnswering(200, 500) }],
    [
      { pid: 2, answered: afterAnswering(200, 500) },
      { pid: 3, answered: afterAnswering(200) },
    ],
  ].map(sumOf);
  expect(sums.map((sum) => [sum['2xx'], sum['5xx']])).toEqual([
    [3, 0],
    [3, 1],
    [4, 1],
  ]);
});
