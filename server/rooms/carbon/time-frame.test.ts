import { expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { readTimeFrame, startIn, type AskedTimeFrame } from './time-frame.ts';

const now = Date.parse('2026-03-15T10:00:00Z');

test.for<[AskedTimeFrame, { from: string; to: string; starts: number }]>([
  [{}, { from: '2026-02-14', to: '2026-03-16', starts: 30 }],
  [{ interval: 'month' }, { from: '2025-04-01', to: '2026-04-01', starts: 12 }],
  [{ interval: 'year' }, { from: '2022-01-01', to: '2027-01-01', starts: 5 }],
  [
    { from: '2024-02-28', to: '2024-03-02' },
    { from: '2024-02-28', to: '2024-03-02', starts: 3 },
  ],
  [
    { from: { gte: '2026-01-01T12:30:00Z' }, to: { lt: '2026-01-03T23:59:59.999Z' } },
    { from: '2026-01-01', to: '2026-01-03', starts: 2 },
  ],
  [
    { from: { eq: '2026-01-01T00:30:00+02:00' }, to: '2026-01-02' },
    { from: '2025-12-31', to: '2026-01-02', starts: 2 },
  ],
  [
    { from: '2026-01-01T00:30:00 02:00', to: '2026-01-02' },
    { from: '2025-12-31', to: '2026-01-02', starts: 2 },
  ],
  [
    { from: '2026-01-20', to: '2026-03-15', interval: 'month' },
    { from: '2026-01-20', to: '2026-03-01', starts: 2 },
  ],
  [
    { from: '2026-03-02', to: '2026-03-15', interval: 'month' },
    { from: '2026-03-02', to: '2026-03-01', starts: 0 },
  ],
  [
    { from: '2023-11-01', to: '2025-02-01', interval: 'year' },
    { from: '2023-11-01', to: '2025-01-01', starts: 2 },
  ],
])('%j is understood as %j', ([asked, { from, to, starts }]) => {
  const frame = readTimeFrame(asked, now);
  expect({ from: frame.from, to: frame.to, starts: frame.starts.length }).toEqual({ from, to, starts });
});

test('the first interval begins where the question does, each other with its first day', () => {
  const frame = readTimeFrame({ from: '2026-01-20', to: '2026-04-01', interval: 'month' }, now);
  expect(frame.starts).toEqual(['2026-01-20', '2026-02-01', '2026-03-01']);
  expect(['2026-01-20', '2026-01-31', '2026-02-28', '2026-03-01'].map((day) => startIn(frame, day))).toEqual([
    '2026-01-20',
    '2026-01-20',
    '2026-02-01',
    '2026-03-01',
  ]);
});

test.for<[AskedTimeFrame, string]>([
  [{ from: 'yesterday' }, 'from'],
  [{ from: '2026-02-30' }, 'from'],
  [{ from: '1969-12-31' }, 'from'],
  [{ from: '2026-01-01T25:00:00Z' }, 'from'],
  [{ from: { gt: '2026-01-01' } }, 'from'],
  [{ from: { gte: '2026-01-01', lt: '2026-02-01' } }, 'from'],
  [{ from: ['2026-01-01', '2026-02-01'] }, 'from'],
  [{ from: {} }, 'from'],
  [{ from: '2026-03-17' }, 'from'],
  [{ to: { lte: '2026-01-01' } }, 'to'],
  [{ to: '' }, 'to'],
  [{ from: '2026-02-01', to: '2026-02-01' }, 'to'],
  [{ from: '2020-01-01', to: '2026-01-01' }, 'interval'],
  [{ from: '1970-01-01', to: '2999-01-01', interval: 'year' }, 'interval'],
])('%j is refused, and %s named', ([asked, name]) => {
  const refused = () => readTimeFrame(asked, now);
  expect(refused).toThrow(Problem);
  expect(refused).toThrow(new RegExp(`^${name} `));
});
