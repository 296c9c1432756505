/**
 * Data that stays: folders on a pool, cloned by copy-on-write where the file system can. Each driver passes volumes/conformance.ts.
 *
 * Everything goes by name and is idempotent: creating what is there does nothing, removing what is not there does nothing. A volume, clone or
 * snapshot is whole or absent, also after `kill -9`. Snapshots cannot be written to.
 */
export interface Volumes {
  /** An empty folder of at most so many bytes. */
  create(name: string, bytesMax: number): Promise<Volume>;
  /** A copy that can be written to, of a volume or a snapshot, as it is at one moment. Same limit as what it came from, unless told otherwise. */
  clone(from: string, name: string, bytesMax?: number): Promise<Volume>;
  /** A copy that cannot be written to, as it is at one moment. */
  snapshot(from: string, name: string): Promise<Volume>;
  /** Puts the volume back to what the snapshot holds, in one move: whoever looks sees the one or the other. */
  restore(name: string, snapshot: string): Promise<Volume>;
  remove(name: string): Promise<void>;
  /** Undefined: there is none. */
  volume(name: string): Promise<Volume | undefined>;
  list(): Promise<Volume[]>;
  usage(name: string): Promise<VolumeUsage>;
  /** Changes the limit while it is in use. Below what is used is refused. */
  grow(name: string, bytesMax: number): Promise<void>;
  /** Of the pool as a whole. */
  capacity(): Promise<{ bytes: number; freeBytes: number }>;
  /** Removes what is not to be kept, and what an interrupted operation left. */
  removeLeftovers(keep: ReadonlySet<string>): Promise<string[]>;
  /** What this driver can do here, for `./offshoot doctor`. */
  readonly kind: 'btrfs' | 'reflink' | 'copy';
  readonly enforcesLimits: boolean;
  close(): Promise<void>;
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
  /** What is in it. */
  bytes: number;
  /** What only it holds: what removing it would free. */
  exclusiveBytes: number;
  bytesMax: number;
}
