/**
 * What restic cuts files by: a random polynomial over the field of two elements that is no product of others, its coefficients written as the bits of a number. restic
 * refuses a repository whose polynomial is one.
 */
import { randomBytes } from 'node:crypto';

const degree = 53;

/** In hexadecimal, as a repository's file `config` has it. One in some thirty has no factors. */
export function randomPolynomial(): string {
  for (;;) {
    // Without the lowest bit it could be divided by x.
    const candidate = BigInt.asUintN(degree, BigInt(`0x${randomBytes(8).toString('hex')}`)) | (1n << BigInt(degree)) | 1n;
    if (isIrreducible(candidate)) return candidate.toString(16);
  }
}

const degreeOf = (polynomial: bigint) => polynomial.toString(2).length - 1;

/** By Ben-Or: all that have a factor of some degree n share it with x^(2^n) - x, and one that has any has one of at most half its own degree. */
export function isIrreducible(polynomial: bigint): boolean {
  let power = 2n;
  for (let n = 1; n <= degreeOf(polynomial) / 2; n += 1) {
    power = remainder(squared(power), polynomial);
    if (commonDivisor(polynomial, power ^ 2n) !== 1n) return false;
  }
  return true;
}

/** In this field the square of a sum is the sum of the squares: a zero goes between any two bits. */
const squared = (polynomial: bigint) => BigInt(`0b${polynomial.toString(2).replaceAll(/\B/g, '0')}`);

function remainder(polynomial: bigint, divisor: bigint): bigint {
  let left = polynomial;
  const divisorDegree = degreeOf(divisor);
  for (let excess = degreeOf(left) - divisorDegree; excess >= 0 && left !== 0n; excess = degreeOf(left) - divisorDegree)
    left ^= divisor << BigInt(excess);
  return left;
}

function commonDivisor(one: bigint, other: bigint): bigint {
  let [larger, smaller] = [one, other];
  while (smaller !== 0n) [larger, smaller] = [smaller, remainder(larger, smaller)];
  return larger;
}
