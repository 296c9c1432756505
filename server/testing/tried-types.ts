/**
 * Which types of the catalogue a run tries on their real images: every day one version of each, and all versions with `./offshoot test catalogue`. Versions of a
 * type differ in packages and tarballs alone; what is done with them is the same code. Types whose images are large are tried there alone.
 */
import { inject } from 'vitest';
import { builtTypesOf, type Catalogue, nameOfType, recipesOf } from '../catalogue/catalogue.ts';
import { exampleTypes } from '../catalogue/example-types.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** All versions of each type are tried, not only one. */
    everyVersion?: true;
  }
}

export const triedTypes = (catalogue: Catalogue): string[] => (inject('everyVersion') ? builtTypesOf(catalogue) : everydayTypes(catalogue));

/**
 * The version that the examples use, whose image other tests need too, or else the newest that is made from the same Debian as theirs, so that a run builds the
 * lowest layers once. Images of registries are others' to build. Two names of one entry (mysql and mariadb) are one type.
 */
export function everydayTypes(catalogue: Catalogue): string[] {
  const names = new Map(
    Object.entries(catalogue)
      .toReversed()
      .map(([name, entry]) => [entry, name] as const),
  );
  const bases = new Set(exampleTypes.map((type) => recipesOf(catalogue, type)[0]));
  const everydayOf = ([name, { versions }]: [string, Catalogue[string]]) => {
    const newest = versions.find(({ recipes: [base] }) => base !== undefined && bases.has(base)) ?? versions[0];
    return exampleTypes.find((type) => nameOfType(type) === name) ?? `${name}:${newest?.version}`;
  };
  return Object.entries(catalogue)
    .filter(([name, entry]) => names.get(entry) === name && !entry.isLarge && entry.versions.every(({ image }) => image === undefined))
    .map(everydayOf);
}
