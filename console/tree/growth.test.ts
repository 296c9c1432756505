import { expect, test } from 'vitest';
import { grow, narrow, scaleOf, wide, type Shoot } from './growth.ts';

const now = Date.parse('2026-11-17T12:00:00Z');
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

const shoot = (id: string, parent: string | null, age: number, more: Partial<Shoot> = {}): Shoot => ({
  id,
  parent,
  takenAt: now - age,
  restsSince: undefined,
  isDormant: false,
  deployments: [],
  ...more,
});

const grown = (shoots: readonly Shoot[], measures = wide) => grow(shoots, scaleOf(shoots, now, measures), measures);

const shop = [
  shoot('main', null, 300 * day),
  shoot('staging', 'main', 3 * day),
  shoot('gift-cards', 'staging', 19 * hour),
  shoot('checkout', 'staging', 2 * hour),
  shoot('hotfix', 'main', 35 * minute),
  shoot('pr-218', 'main', hour, { isDormant: true }),
];

test('children come newest first, each with its own subtree, and what is inactive comes last', () => {
  expect(grown(shop).map(({ id, depth }) => [id, depth])).toEqual([
    ['main', 0],
    ['hotfix', 1],
    ['staging', 1],
    ['checkout', 2],
    ['gift-cards', 2],
    ['pr-218', 1],
  ]);
});

test('a shoot is the longer the older its data is', () => {
  const at = new Map(grown(shop).map(({ id, arrivesAt }) => [id, arrivesAt ?? 0]));
  expect(at.get('staging')).toBeLessThan(at.get('gift-cards') ?? 0);
  expect(at.get('gift-cards')).toBeLessThan(at.get('checkout') ?? 0);
  expect(at.get('staging')).toBeLessThan(at.get('hotfix') ?? 0);
});

test('no lines cross: whatever passes a row is left of where its own shoot arrives', () => {
  for (const { passing, arrivesAt } of grown(shop)) for (const { x } of passing) expect(x).toBeLessThan(arrivesAt ?? 0);
});

test('a child that is older than the data of its parent leaves at the left end of its parent', () => {
  const slices = grown([shoot('main', null, 90 * day), shoot('staging', 'main', hour), shoot('old', 'staging', 20 * day)]);
  const staging = slices.find(({ id }) => id === 'staging');
  expect(staging?.leaving).toEqual([{ id: 'old', from: staging?.start, x: expect.any(Number) }]);
  expect(staging?.leaving[0]?.x).toBeGreaterThan(staging?.start ?? 0);
});

test.each([
  ['wide', wide],
  ['narrow', narrow],
] as const)('five hundred environments of one day stay inside the %s drawing', (_name, measures) => {
  const many = [shoot('main', null, 90 * day)];
  for (let n = 0; n < 500; n += 1) many.push(shoot(`branch-${n}`, n % 7 === 0 ? 'main' : `branch-${n - 1}`, day - n * minute));
  const slices = grown(many, measures);
  expect(slices.length).toBe(501);
  for (const { start, arrivesAt, passing } of slices) {
    expect(start).toBeLessThanOrEqual(measures.end + 0.001);
    expect(arrivesAt ?? 0).toBeGreaterThanOrEqual(0);
    expect(passing.length).toBeLessThanOrEqual(measures.end);
  }
});

test('the scale follows the ages in the tree, and its words keep apart', () => {
  const young = scaleOf([shoot('main', null, day), shoot('one', 'main', 30 * minute)], now, wide);
  expect(young.ticks.map(({ word }) => word)).toEqual(['1 min', '10 min']);
  const old = scaleOf([shoot('main', null, 90 * day), shoot('one', 'main', 40 * day)], now, wide);
  expect(old.ticks.map(({ word }) => word)).toEqual(['1 h', '1 d', '1 w']);
  const distances = old.ticks.slice(1).map(({ x }, n) => (old.ticks[n]?.x ?? 0) - x);
  expect(Math.min(...distances)).toBeGreaterThan(30);
});
