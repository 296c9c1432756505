import { expect, test } from 'vitest';
import { isIrreducible, randomPolynomial } from './polynomials.ts';

function product(one: bigint, other: bigint): bigint {
  let sum = 0n;
  for (let bit = 0n; other >> bit; bit += 1n) if ((other >> bit) & 1n) sum ^= one << bit;
  return sum;
}

test('a polynomial has no factors where no two smaller ones make it', () => {
  const small = Array.from({ length: 126 }, (_, n) => BigInt(n + 2));
  const products = new Set(small.flatMap((one) => small.map((other) => product(one, other))));
  const judged = small.filter(isIrreducible);
  expect(judged).toEqual(small.filter((polynomial) => !products.has(polynomial)));
  expect(judged.slice(0, 5)).toEqual([0b10n, 0b11n, 0b111n, 0b1011n, 0b1101n]);
});

test('a random one is of the degree that restic wants, and never the same', () => {
  const some = Array.from({ length: 5 }, () => BigInt(`0x${randomPolynomial()}`));
  expect(some.map((polynomial) => [polynomial >> 53n, isIrreducible(polynomial)])).toEqual(some.map(() => [1n, true]));
  expect(new Set(some).size).toBe(5);
});
