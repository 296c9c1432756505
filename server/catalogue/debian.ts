/** Releases of Debian, as what versions of types are made from: each row of a type's versions is one release's. */
import { type DebianBase, type DebianPackages, debianSuite, type Recipe } from '../drivers/images/recipe.ts';
import type { Version } from './entry.ts';

export const packages = (first: string, ...others: string[]): DebianPackages => ({ kind: 'debian-packages', packages: [first, ...others] });

const release = (suite: string, revision: string) => {
  const base: DebianBase = { kind: 'debian-base', suite, revision };
  return {
    /** A row of a type's versions: what is on top of the release, lowest first. */
    version: (version: string, ...recipes: readonly Recipe[]): Version => ({ version, recipes: [base, ...recipes] }),
    /** Newer packages than the release came out with, from Debian as well. */
    backports: (first: string, ...others: string[]) =>
      packages(`${first}/${suite}-backports`, ...others.map((name) => `${name}/${suite}-backports`)),
  };
};

export const bookworm = release(debianSuite, '2026-11');
