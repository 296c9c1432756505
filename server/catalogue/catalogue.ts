/** Everything that an app or a service can be. Recipes that are the same are built once and shared, so what several types need is in layers of its own. */
import { type ImageTypes, nameOfType, versionOfType } from '../drivers/images/image-types.ts';
import { shippedServices } from './described-services.ts';
import type { ContainerProfile, Entry, ServiceEntry, VersionStatus } from './entry.ts';
import type { Runtime } from './runtime.ts';
import { runtimes } from './runtimes.ts';
import type { Service } from './service.ts';
import { ownImages } from './own-images.ts';
import { services } from './services.ts';

export { fromDockerfile, fromRegistry, hasOwnImage, toolsIn, typeBelow } from './own-images.ts';
export { builtTypesOf, entryOf, nameOfType, nearestVersion, recipesOf, typesOf, versionOfType } from '../drivers/images/image-types.ts';

export type Catalogue = Readonly<Record<string, CatalogueEntry>>;

/** A runtime, a service that runs, or storage: one of the three. */
export interface CatalogueEntry extends Entry {
  runtime?: Runtime;
  service?: Service;
  isStorage?: true;
}

const builtIn: Catalogue = { ...runtimes, ...services };
/** What is described and built in under the same name is what is built in. */
const shipped: Catalogue = { ...builtIn, ...shippedServices(Object.keys(builtIn)) };
const offered: Record<string, CatalogueEntry> = { ...shipped };
const buildable: Record<string, ImageTypes[string]> = { ...shipped, ...ownImages };

/** Grows and shrinks with what operators describe; so what follows from it is found anew whenever it is needed. */
export const catalogue: Catalogue = offered;

/** Whether a type is made here, and not described by anybody. */
export const isBuiltIn = (name: string): boolean => Object.hasOwn(builtIn, name);

/** From now on these are all that operators described. Theirs goes before ours of the same name: environments already run by it. */
export function offerDescribed(described: Readonly<Record<string, ServiceEntry>>): void {
  for (const name of Object.keys(offered)) delete offered[name];
  Object.assign(offered, shipped, described);
  for (const name of Object.keys(buildable)) delete buildable[name];
  Object.assign(buildable, offered, ownImages);
}

/** All that the driver of images can build: the catalogue, and what images that people bring themselves are run and built with. */
export const imageTypes: ImageTypes = buildable;

/** The versions of a type that is in the catalogue with what becomes of each, the newest first. */
export const statusesOf = ({ versions, retired = [] }: Pick<Entry, 'versions' | 'retired'>): [version: string, status: VersionStatus][] => [
  ...versions.map(({ version, isDeprecated }): [string, VersionStatus] => [version, isDeprecated ? 'deprecated' : 'supported']),
  ...retired.map((version): [string, VersionStatus] => [version, 'retired']),
];

const entryNamed = (type: string): CatalogueEntry | undefined => {
  const name = nameOfType(type);
  return Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
};

/** These answer for a type such as `nodejs:24`, whatever its version; undefined when the type is of another kind, or no longer in the catalogue. */
export const runtimeOfType = (type: string): Runtime | undefined => entryNamed(type)?.runtime;
export const serviceOfType = (type: string): Service | undefined => entryNamed(type)?.service;
export const usualProfileOf = (type: string): ContainerProfile | undefined => entryNamed(type)?.profile;
export const isStorage = (type: string): boolean => entryNamed(type)?.isStorage ?? false;

/** Versions of a service that have the same one read each other's data. */
export function dataFormatOf(type: string): string {
  const version = versionOfType(type);
  return serviceOfType(type)?.dataFormat?.(version) ?? version.split('.', 1)[0] ?? '';
}
