/** Releases of Debian, from which the versions of types are made: each version is made from one release. */
import { type DebianBase, type DebianPackages, debianSuite, type Recipe } from '../drivers/images/recipe.ts';
import type { Version } from './entry.ts';

export const packages = (first: string, ...others: string[]): DebianPackages => ({ kind: 'debian-packages', packages: [first, ...others] });

const release = (suite: string, revision: string) => {
  const base: DebianBase = { kind: 'debian-base', suite, revision };
  return {
    /** One version of a type: its recipes lie on top of the release, the lowest first. */
    version: (version: string, ...recipes: readonly Recipe[]): Version => ({ version, recipes: [base, ...recipes] }),
    /** Packages from Debian's backports, which are newer than those of the release. */
    backports: (first: string, ...others: string[]) =>
      packages(`${first}/${suite}-backports`, ...others.map((name) => `${name}/${suite}-backports`)),
  };
};

export const bookworm = release(debianSuite, '2026-11');
