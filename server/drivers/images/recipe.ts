/**
 * What a layer is made of, as plain data. The hash of all of it is the layer's name, so a recipe that changes makes a new layer, and two images
 * with the same recipe share one. So do newer packages of Debian, once they are wanted (update-layers.ts).
 */
import { createHash } from 'node:crypto';

/** Raised when the same recipe would now be built differently. */
const format = 2;
const hashCharacters = 32;

export type Recipe = DebianBase | DebianPackages | DebianApart | NpmPackages | MavenJars | Files | Authorities;

/** The smallest Debian that works; the lowest layer of every image. */
export interface DebianBase {
  kind: 'debian-base';
  /** The release that the packages of all layers above are taken from, too. */
  suite: string;
  /** Changed to build everything anew, with Debian's updates since. */
  revision: string;
}

/** Packages, and what they need, on top of the layers below. */
export interface DebianPackages {
  kind: 'debian-packages';
  packages: readonly [string, ...string[]];
  /** Patterns of paths that are left out, for what a container has no use for. */
  without?: readonly string[];
  /** The only files that are wanted of the packages; they need nothing but the base, so the layer is the same whatever else is below. */
  only?: readonly string[];
}

/** Programs of another Debian, with all libraries that they need, in a folder of their own. Whatever is below, the layer is the same. */
export interface DebianApart {
  kind: 'debian-apart';
  suite: string;
  /** Changed to build the layer anew, with Debian's updates since. */
  revision: string;
  packages: readonly string[];
  into: string;
  /** Found in `/usr/local/bin` under their names. */
  programs: readonly string[];
}

/** Contents of npm packages, put where they are wanted. Whatever is below, the layer is the same. */
export interface NpmPackages {
  kind: 'npm-packages';
  packages: readonly NpmPackage[];
  /** Symbolic links, and what they point to. */
  links?: Readonly<Record<string, string>>;
}

export interface NpmPackage {
  name: string;
  version: string;
  /** The integrity of the tarball, as the registry writes it. */
  integrity: string;
  /** The folder of the package that is wanted; all of it where absent. */
  from?: string;
  into: string;
  /** Patterns of paths in `from` that are left out. */
  without?: readonly string[];
  /** npm packages cannot hold symbolic links; this file of the package lists those that belong in. */
  linksListedIn?: string;
}

/** Programs for Java as they are in Maven Central, all in one folder. Whatever is below, the layer is the same. */
export interface MavenJars {
  kind: 'maven-jars';
  jars: readonly MavenJar[];
  into: string;
}

export interface MavenJar {
  group: string;
  artifact: string;
  version: string;
  /** The SHA-256 hash of the file, in hexadecimal. */
  sha256: string;
}

/** Text files that an image needs beside its packages. */
export interface Files {
  kind: 'files';
  files: Readonly<Record<string, string>>;
  /** Those that can be run. */
  programs?: Readonly<Record<string, string>>;
  /** Symbolic links, and what they point to. */
  links?: Readonly<Record<string, string>>;
}

/** Certificates that are trusted beside those that Debian trusts; above all packages, some of which have a store of their own. */
export interface Authorities {
  kind: 'authorities';
  /** Each is one certificate as PEM. */
  certificates: readonly string[];
}

/** A recipe among those below it, lowest first. */
export interface Layer {
  hash: string;
  /** The same whatever packages Debian has: what the layer is called until it is built anew with newer ones. */
  key: string;
  recipe: Recipe;
  /** Hashes of the layers without which it makes no sense, lowest first. */
  below: readonly string[];
  /** The release of Debian that its packages are taken from; undefined where it has none of Debian's. */
  suite: string | undefined;
}

/** Which packages the layer of each key is to be built with, once there are newer ones than at first. */
export type Revisions = Readonly<Record<string, string>>;

export function layersOf(recipes: readonly Recipe[], architecture: string, revisions: Revisions = {}): Layer[] {
  const layers: Layer[] = [];
  for (const recipe of recipes) {
    const needed = needs(recipe, layers);
    const below = needed.map(({ hash }) => hash);
    const key = hashOf({ format, architecture, below: needed.map((layer) => layer.key), recipe });
    const isAsAtFirst = revisions[key] === undefined && needed.every((layer) => layer.hash === layer.key);
    const hash = isAsAtFirst ? key : hashOf({ key, revision: revisions[key], below });
    layers.push({ hash, key, recipe, below, suite: suiteAmong([recipe, ...needed.map((layer) => layer.recipe)]) });
  }
  return layers;
}

/** Debian packages are registered with those below them; the other kinds only add files. */
function needs(recipe: Recipe, layers: readonly Layer[]): Layer[] {
  if (isSome(recipe)) return layers.filter((layer) => layer.recipe.kind === 'debian-base');
  return addsFiles(recipe) ? [] : layers.filter((layer) => !addsFiles(layer.recipe));
}

const suiteAmong = (recipes: readonly Recipe[]) => recipes.find((recipe) => recipe.kind === 'debian-base')?.suite;

const isSome = (recipe: Recipe) => recipe.kind === 'debian-packages' && recipe.only !== undefined;
const kindsOfFiles: ReadonlySet<Recipe['kind']> = new Set(['npm-packages', 'maven-jars', 'files', 'debian-apart']);
const addsFiles = (recipe: Recipe) => kindsOfFiles.has(recipe.kind) || isSome(recipe);

export const hashOf = (data: unknown) => createHash('sha256').update(canonical(data)).digest('hex').slice(0, hashCharacters);

/** JSON in which the order of keys does not matter. */
const canonical = (data: unknown) =>
  JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
