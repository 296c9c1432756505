/** What the catalogue says of a type, in one place: each is a file in `services` or `runtimes`, and a line in the list of that name. */
import type { ImageVersion } from '../drivers/images/image-types.ts';
import type { Recipe } from '../drivers/images/recipe.ts';
import type { Runtime } from './runtime.ts';
import type { Service } from './service.ts';

export const containerProfiles = ['HIGH_CPU', 'BALANCED', 'HIGH_MEMORY', 'HIGHER_MEMORY'] as const;
export type ContainerProfile = (typeof containerProfiles)[number];

export interface Version extends ImageVersion {
  /** A deprecated version still works for apps that use it, but is not proposed to anybody, and a push says that it should be left. */
  isDeprecated?: true;
  /** What operators should know of the version before they rely on it. */
  note?: string;
  /** Nobody has run it here yet: it is offered, and a push that uses it says so. */
  isUntried?: true;
}

/** A retired version is refused; the others work. */
export type VersionStatus = 'supported' | 'deprecated' | 'retired';

export const deprecated = (version: Version): Version => ({ ...version, isDeprecated: true });

export interface Entry {
  /** The versions of the type, the newest first. */
  versions: readonly Version[];
  /** Versions that many configurations still name, and that nobody mends any more: they are refused, with a version to go to. */
  retired?: readonly string[];
  /** How much memory comes with how much CPU, unless the configuration of the app or service says otherwise. */
  profile: ContainerProfile;
  /** Its image is large or takes long to build, so a whole run of the tests leaves it out; `./offshoot test catalogue` tries it. */
  isLarge?: true;
}

export interface RuntimeEntry extends Entry {
  runtime: Runtime;
}

export interface ServiceEntry extends Entry {
  service: Service;
  clients?: Clients;
}

/** A service of which nothing runs: a volume, which apps and workers mount. */
export interface StorageEntry extends Entry {
  isStorage: true;
}

/** Programs that talk to the service, in the images of all runtimes. Adding one changes the image of every runtime. */
export interface Clients {
  /** Packages that every Debian release has that images of runtimes are made from. */
  packages: readonly string[];
  /** Layers from other sources, which lie above all packages. */
  recipes?: readonly Recipe[];
}
