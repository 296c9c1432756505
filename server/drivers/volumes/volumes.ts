/**
 * Data that stays: folders on a pool, cloned by copy-on-write where the file system can. Each driver passes volumes/conformance.ts.
 *
 * Everything goes by name and is idempotent: creating what is there does nothing, removing what is not there does nothing. A volume, clone or
 * snapshot is whole or absent, also after `kill -9`. Where the driver can, snapshots cannot be written to.
 *
 * A new volume's folder belongs to 0:0, mode 0755. The ids on disk are the ids that containers see; whoever deploys gives it to another user.
 */
export interface Volumes {
  /** An empty folder of at most so many bytes. */
  create(name: string, bytesMax: number): Promise<Volume>;
  /**
   * A copy that can be written to, of a volume or a snapshot, as it is at one moment: all that was synced is in it, and what was not may be, as
   * after a power failure. Same limit as what it came from, unless told otherwise.
   */
  clone(from: string, name: string, bytesMax?: number): Promise<Volume>;
  /** A copy that cannot be written to, as it is at one moment. */
  snapshot(from: string, name: string): Promise<Volume>;
  /**
   * Puts the volume back to what the snapshot holds, in one move: whoever looks sees the one or the other. The limit stays the volume's. A
   * container that has the folder mounted keeps the old one until it is started anew, so stop it first.
   */
  restore(name: string, snapshot: string): Promise<Volume>;
  remove(name: string): Promise<void>;
  /** Resolves when all that was done to volumes so far outlasts a power failure. Before somebody writes down that it is done. */
  settle(): Promise<void>;
  /** Undefined: there is none. */
  volume(name: string): Promise<Volume | undefined>;
  list(): Promise<Volume[]>;
  /** At most a few seconds old. */
  usage(name: string): Promise<VolumeUsage>;
  /** The usage of all volumes whose limits are enforced, as the file system counted last: at most half a minute ago or, for volumes that share data with many, a few minutes ago. */
  usages(): Promise<ReadonlyMap<string, VolumeUsage>>;
  /** Changes the limit while the volume is in use. A limit below what is used is refused. */
  grow(name: string, bytesMax: number): Promise<void>;
  /**
   * To be called every few seconds by one process. Where the kernel cannot tell what is in a clone, a volume that shares data with others may outgrow its
   * limit, by as much as that once; this notices, and refuses further writes to it until it is within the limit again.
   */
  keepLimits(): Promise<void>;
  /** The size of the pool as a whole, with what it may still grow by. */
  capacity(): Promise<{ bytes: number; freeBytes: number }>;
  /** Removes volumes that are not to be kept, and what an interrupted operation left. */
  removeLeftovers(keep: ReadonlySet<string>): Promise<string[]>;
  /** Removes only what a killed process was about to make or to remove. Every volume stays. */
  removeInterrupted(): Promise<string[]>;
  /** The folder on this machine that holds them all, each under its name. */
  readonly folder: string;
  /** What this driver can do here, for `./offshoot doctor`. */
  readonly kind: 'btrfs' | 'reflink' | 'copy';
  readonly enforcesLimits: boolean;
  /** False: stop what writes to a volume before it is cloned; the copy is made file by file, and is not as of one moment. */
  readonly clonesWhileWritten: boolean;
  /** Lets go of watchers; what is mounted stays, because containers use it. */
  close(): Promise<void>;
  /** Lets go of a pool of our own, too. For tests, and for operators who uninstall: nothing may use it any more. */
  unmount?(): Promise<void>;
}

export interface Volume {
  /** Lower-case letters, digits and dashes, 100 at most. */
  name: string;
  /** The folder on this machine. */
  path: string;
  bytesMax: number;
  isSnapshot: boolean;
}

export interface VolumeUsage {
  /** How much data is in the volume. */
  bytes: number;
  /** How much data only this volume holds, which is what removing it would free. Where the file system does not tell, all that is in it. */
  exclusiveBytes: number;
  bytesMax: number;
}
