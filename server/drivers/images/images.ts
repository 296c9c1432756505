/**
 * What containers start from: an image is an ordered list of layers, each a folder built once from its recipe and kept under the recipe's hash.
 *
 * A layer is complete or absent, never half; two builds of one layer, also in two processes, become one. The cache can be shared between
 * installations (`OFFSHOOT_IMAGES`).
 */
import type { ImageLayout } from './oci/image-layout.ts';
import type { OciImage, RegistryAccess } from './oci/oci-image.ts';

export type { OciConfig, OciImage, RegistryAccess } from './oci/oci-image.ts';

export interface Images {
  /**
   * Brings an image of a registry, such as `docker.io/library/redis:8`: what its tag means now, for this machine's platform. The type of what comes back names
   * its digest; `built` and `ensure` know it from then on. Throws a Problem in words.
   */
  bring(reference: string, access?: RegistryAccess, onProgress?: (progress: Progress) => void, signal?: AbortSignal): Promise<OciImage>;
  /** Fetches an image of a registry as it is, for programs that build on it, into a folder that nobody else writes to; what is there stays. */
  fetchLayout(reference: string, access: RegistryAccess, folder: string, signal: AbortSignal): Promise<ImageLayout>;
  /** Builds what is missing of an image of the catalogue, such as `nodejs:22`; throws a Problem that names what exists when there is no such one. */
  ensure(type: string, onProgress?: (progress: Progress) => void, signal?: AbortSignal): Promise<Image>;
  /** What is built already; undefined where a layer is missing. */
  built(type: string): Promise<Image | undefined>;
  /**
   * Removes layers that nothing has used for so long, oldest first also while all together are larger than allowed, and what broken builds left.
   * `keep` names layers as `Image.layers` does; those below them stay too, and so does what was used within the hour. Returns their hashes.
   */
  collect(limits: CollectLimits, keep?: ReadonlySet<string>): Promise<string[]>;
  /** What all layers together take, and what `collect` would free of it now. */
  bytes(limits: CollectLimits, keep?: ReadonlySet<string>): { taken: number; collectable: number };
  /**
   * Asks Debian whether there are newer packages than those in images that are built, and builds what has some anew; from then on `ensure` answers with
   * that. What runs keeps its layers. Two updates take turns.
   */
  update(onLine?: (line: string) => void, signal?: AbortSignal): Promise<Update>;
  /**
   * Builds images that nobody has asked for yet, each once ever, while nobody waits for another; returns at once where another process is at it. Throws a
   * Problem where there is no room, or where one cannot be built.
   */
  bringAhead(types: readonly string[], report: AheadReport, signal: AbortSignal): Promise<void>;
  /** How far building images ahead has come. */
  ahead(): Ahead;
  /** How long ago Debian was last asked, or might have been; undefined where nothing is built. */
  secondsSinceUpdate(): number | undefined;
}

export interface AheadReport {
  /** A line of what happens, for people. */
  say(line: string): void;
  /** Whether somebody waits for what is built just now, or nobody. */
  hurry(isWaitedFor: boolean): void;
}

export interface Ahead {
  /** When each type was brought. */
  brought: Record<string, string>;
  /** Holds only while a process is really doing it. */
  bringing?: { type: string; percent: number };
  /** Why the last attempt was given up. */
  problem?: string;
}

export interface CollectLimits {
  ageSecondsMax: number;
  bytesMax: number;
}

export interface Update {
  /** For people: `openssl 3.0.1 becomes 3.0.2`. */
  packages: string[];
  /** The types that have a new image from now on. */
  types: string[];
}

export interface Image {
  /** As in the catalogue: `nodejs:22`. */
  type: string;
  /** Changes with any of its layers. */
  hash: string;
  /** Folders on this machine, lowest first. */
  layers: string[];
  bytes: number;
}

export interface Progress {
  percent: number;
  /** A line of what the build says, for people. */
  line: string;
}
