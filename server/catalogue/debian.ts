/** Releases of Debian, from which the versions of types are made: each version is made from one release, and layers are shared by those of the same. */
import type { DebianBase, DebianPackages, Recipe } from '../drivers/images/recipe.ts';
import type { Version } from './entry.ts';

export const packages = (first: string, ...others: string[]): DebianPackages => ({ kind: 'debian-packages', packages: [first, ...others] });

const release = (suite: string, revision: string, said: Pick<Version, 'note'> = {}) => {
  const base: DebianBase = { kind: 'debian-base', suite, revision };
  return {
    /** One version of a type: its recipes lie on top of the release, the lowest first. */
    version: (version: string, ...recipes: readonly Recipe[]): Version => ({ version, recipes: [base, ...recipes], ...said }),
    /** Packages from Debian's backports, which are newer than those of the release. */
    backports: (first: string, ...others: string[]) =>
      packages(`${first}/${suite}-backports`, ...others.map((name) => `${name}/${suite}-backports`)),
  };
};

export type Release = ReturnType<typeof release>;

/** Debian 13, from which everything current is made, so that most images of a machine share their lowest layers. */
export const trixie = release('trixie', '2026-11');
/** Debian 14, for versions that nothing else has. */
export const forky = release('forky', '2026-11', {
  note: 'from Debian 14, which is not released: its security team does not look after it yet',
});
/** Debian 12, for older versions that people still have. */
export const bookworm = release('bookworm', '2026-11');
