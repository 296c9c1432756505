/** What the catalogue says of a type, in one place: each is a file in `services` or `runtimes`, and a line in the list of that name. */
import type { ImageVersion } from '../drivers/images/image-types.ts';
import type { Recipe } from '../drivers/images/recipe.ts';
import type { Runtime } from './runtime.ts';
import type { Service } from './service.ts';

export const containerProfiles = ['HIGH_CPU', 'BALANCED', 'HIGH_MEMORY', 'HIGHER_MEMORY'] as const;
export type ContainerProfile = (typeof containerProfiles)[number];

export interface Version extends ImageVersion {
  /** Offered to those who have it, and proposed to nobody. */
  isDeprecated?: true;
}

export interface Entry {
  /** Newest first. */
  versions: readonly Version[];
  /** How much memory comes with how much of a CPU, unless its configuration says otherwise. */
  profile: ContainerProfile;
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

/** What speaks with the service, in the images of all runtimes. Whatever is added here makes every one of them another image. */
export interface Clients {
  /** Of the Debian that images of runtimes are made from. */
  packages: readonly string[];
  /** From elsewhere; above all packages. */
  recipes?: readonly Recipe[];
}
