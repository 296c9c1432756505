/** What the driver is told of what there is to build: types by name, and of each its versions with the recipes of their images. */
import { nearestFirst } from '../../kernel/nearest.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Recipe } from './recipe.ts';

export type ImageTypes = Readonly<Record<string, ImageType>>;

export interface ImageType {
  /** Newest first. */
  versions: readonly ImageVersion[];
}

export interface ImageVersion {
  version: string;
  /** Lowest first; none where it is an image of a registry. */
  recipes: readonly Recipe[];
  /** The image of a registry that it is, such as `docker.io/library/redis:8`. */
  image?: string;
}

/** `nodejs` of `nodejs:24`. */
export const nameOfType = (type: string) => type.split(':', 1)[0] ?? '';
/** `24` of `nodejs:24`. */
export const versionOfType = (type: string) => type.slice(nameOfType(type).length + 1);

export const typesOf = (types: ImageTypes): string[] =>
  Object.entries(types).flatMap(([name, { versions }]) => versions.map(({ version }) => `${name}:${version}`));

/** Those that are built here, from recipes. */
export const builtTypesOf = (types: ImageTypes): string[] =>
  typesOf(types).filter((type) => entryOf(types, type).version.image === undefined);

/** Throws a Problem that names what exists, the likeliest first. */
export function recipesOf(types: ImageTypes, type: string): readonly Recipe[] {
  return entryOf(types, type).version.recipes;
}

/** Throws a Problem that names what exists, the likeliest first. */
export function entryOf<T extends ImageType>(
  types: Readonly<Record<string, T>>,
  type: string,
): { entry: T; version: T['versions'][number] } {
  const [name, wanted] = [nameOfType(type), versionOfType(type)];
  const entry = Object.hasOwn(types, name) ? types[name] : undefined;
  if (!entry) {
    throw new Problem(
      'invalid-request',
      `There is no type ${shown(name)}; there are ${nearestFirst(name, Object.keys(types)).join(', ')}.`,
    );
  }
  const version = entry.versions.find((candidate) => candidate.version === wanted);
  if (!version) {
    const versions = entry.versions.map((candidate) => candidate.version);
    const nearest = nearestVersion(wanted, versions);
    const offered = [nearest, ...versions.filter((candidate) => candidate !== nearest)].map((candidate) => `${name}:${candidate}`);
    const asked = wanted === '' ? `Say which version of ${name}` : `There is no version ${shown(wanted)} of ${name}`;
    throw new Problem('invalid-request', `${asked}; there ${offered.length === 1 ? 'is' : 'are'} ${offered.join(', ')}.`);
  }
  return { entry, version };
}

/** What somebody should take who asked for a version that there is not: the oldest that is not older, which does what it did, or else the newest. */
export function nearestVersion(wanted: string, versions: readonly string[]): string | undefined {
  const compare = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });
  const oldestFirst = versions.toSorted(compare);
  return (wanted === '' ? undefined : oldestFirst.find((version) => compare(version, wanted) >= 0)) ?? oldestFirst.at(-1);
}

const shownCharactersMax = 40;
const shown = (name: string) => JSON.stringify(name.slice(0, shownCharactersMax));
