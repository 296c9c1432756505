import { Problem } from '../../kernel/problem.ts';

/**
 * Where backups are kept, off the pool: compressed, encrypted, and each piece of data once, however many backups have it. Every implementation passes
 * blobs/conformance.ts.
 *
 * A repository is what shares its pieces and its key: one per project. It may be in several places; then each holds everything, and what is stored
 * is stored when all have it; where one does not answer, nothing is begun in the others. Whoever uses one does so beside others; whoever removes something from it waits until it is alone with it.
 *
 * A place is one installation's: in that of another nothing is stored, repaired or removed, and what asks for it throws a Problem that says so.
 */
export interface Blobs {
  /**
   * Keeps the folders as they are now: owners, modes, times, links and attributes. They must not change meanwhile. Named by the backup: whoever calls
   * again, because the first call was interrupted, gets the same without reading everything again.
   */
  store(repository: string, backup: string, parts: readonly Part[], bounds: StoreBounds): Promise<Stored>;
  /** Reads back every byte from every place, and throws a Problem that says what is damaged or missing where: a Damage, if anything is. */
  verify(repository: string, stored: Stored, signal?: AbortSignal): Promise<void>;
  /** Reads back every byte like `verify`, and tells what was found in each place. */
  inspect(repository: string, stored: Stored, signal?: AbortSignal): Promise<Copy[]>;
  /**
   * What of these is all there, as far as one can tell without reading all of it: some of it may be damaged where it is, unless the repository was just repaired.
   * By the backup's name.
   */
  survey(repository: string, backups: readonly Stored[], signal?: AbortSignal): Promise<Map<string, Copy[]>>;
  /**
   * Takes what is damaged, or refers to what is not there, out of use, in every place: whatever is stored after that is whole, also where it is the same data again,
   * and makes backups whole that lack just this. All that is sound stays. It bears being interrupted and called again.
   */
  repair(repository: string, signal?: AbortSignal): Promise<Repaired[]>;
  /**
   * Copies those of these backups that a place lacks, or has damaged, from one that has them whole, and reads back what is there then. For a repository that was just
   * repaired.
   */
  bringBack(repository: string, backups: readonly Stored[], signal?: AbortSignal): Promise<BroughtBack[]>;
  /**
   * For an operator who replaced a disk, or added a place: begins the repository, empty, where another place has it and this one has nothing of it any more. Without
   * being told nobody does, as a disk that is not mounted looks the same. Tells the places.
   */
  beginAgain(repository: string, signal?: AbortSignal): Promise<string[]>;
  /**
   * Fills empty folders with the parts of those names, from the first place that has them whole. It bears being called again for folders that an
   * interrupted call left half full. Throws a Damage where no place has them whole.
   */
  restore(repository: string, stored: Stored, parts: readonly Part[], signal?: AbortSignal): Promise<void>;
  /**
   * Frees what only these backups held. Those that are not there are forgotten already. As long as another one lacks something, nothing can be told to be unused,
   * and it is freed with a later call.
   */
  forget(repository: string, backups: readonly string[], signal?: AbortSignal): Promise<void>;
  /** The backups that are in any of the places, all of which have to answer. */
  list(repository: string): Promise<string[]>;
  /** Removes the repository with all that is in it. */
  removeRepository(repository: string): Promise<void>;
  /** Each place, and whether it can be reached and written to, and is no other installation's. */
  places(): Promise<PlaceState[]>;
}

export interface Part {
  /** Letters, digits and dashes, 100 at most; so are the names of repositories and backups. */
  name: string;
  folder: string;
  /** How much of the folder may be stored, counting holes and what files share; more is a Problem. Undefined: there is no limit. */
  bytesMax?: number;
}

export interface StoreBounds {
  /** An earlier backup of the same folders: what has not changed since is not read again. */
  after?: Stored | undefined;
  /** When the folders were copied from data that goes on changing. */
  takenAt?: string | undefined;
  /** From 0 to 1. */
  progress?: ((share: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Kept with the backup: what to ask each place for. */
export interface Stored {
  backup: string;
  /** The names of the parts. */
  parts: string[];
  /** The backup's id at each place, by the place's name. A place that is not mentioned, or that does not know the id, is searched for the backup's name. */
  places: Record<string, string>;
  /** How large the folders are. */
  bytes: number;
  /** How much the backup added to the first place: compressed, without what was there already. */
  bytesAdded: number;
  /** In seconds since 1970: files that changed in the moment from then on may have changed again without a trace (recent-changes.ts). */
  doubtfulFrom?: number;
}

export interface PlaceState {
  name: string;
  /** Without credentials. */
  address: string;
  /** Undefined: it works. */
  problem: string | undefined;
}

/** What is stored is damaged, or parts of it are missing. A place that could not be looked at is not damage. */
export class Damage extends Problem {}

/** A backup at one place. */
export interface Copy {
  place: string;
  /** `unknown`: the place does not answer, does not let us in, is another disk than before … */
  state: 'whole' | 'damaged' | 'unknown';
  /** The backup's id at the place, where it was read and is whole. */
  id?: string;
  /** What is wrong, where the copy is not whole. */
  problem?: Problem;
}

export interface BroughtBack {
  place: string;
  backups: string[];
}

export interface Repaired {
  place: string;
  /** The files that were taken out of use. */
  damaged: string[];
  /** How many sound pieces were in them, and were kept. */
  piecesKept: number;
}
