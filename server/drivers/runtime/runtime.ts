/**
 * Containers, as the rest of the platform sees them. Each driver passes runtime/conformance.ts.
 *
 * Everything is idempotent and goes by name: ensuring what already runs as described does nothing, removing what is not there does nothing.
 * Containers outlive the platform's process; a platform that comes back finds them by name.
 */
import type { Readable, Writable } from 'node:stream';

/** The name by which each container knows the machine that it runs on. */
export const machineHost = 'platform.offshoot.internal';

export interface Runtime {
  /**
   * Makes the container run as described and waits until its probe passes. What runs under the name but was described otherwise is replaced,
   * except for limits, files and what it may reach, which change in place. Throws a Problem that says in words why it could not start, with its last lines.
   * A start that failed leaves it stopped, with its logs and how it ended to be looked at, until it is ensured again or removed.
   */
  ensure(container: Container): Promise<ContainerState>;
  /** Stops it as its description says, and leaves nothing of it behind. */
  remove(name: string): Promise<void>;
  state(name: string): Promise<ContainerState>;
  /** Every container of this runtime, running or not. */
  list(): Promise<ContainerState[]>;
  exec(name: string, command: Command): Promise<Execution>;
  logs(name: string, options: LogOptions): AsyncIterable<LogLine>;
  stats(name: string): Promise<ContainerStats>;
  /** What every running container has used so far, and how much it may use. Starts no process; one whose numbers cannot be had soon is left out. */
  statistics(): Promise<ContainerStatistics[]>;
  /** Until it is resumed, or this process closes the runtime or ends, also by `kill -9`: nothing stays paused that nobody will resume. */
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /** Changes limits without a restart. */
  update(name: string, limits: Limits): Promise<void>;
  /** Changes what the container may reach, without a restart. Open connections stay open. */
  updateOutbound(name: string, outbound: readonly OutboundRule[] | undefined): Promise<void>;
  /** Changes the contents of its files, without a restart; it has the same files as before. */
  updateFiles(name: string, files: Readonly<Record<string, string>>): Promise<void>;
  /** From now on containers reach this port of their machine under the name `machineHost`; of all others, those that were admitted for other purposes. */
  admit(port: AdmittedPort): Promise<void>;
  /** Which container has an address, as whoever it connects to sees it; undefined where none has. No container can take the address of another. */
  containerAt(address: string): Promise<{ name: string; network: string } | undefined>;
  /** Removes what should not exist: containers that are not to be kept, and whatever an interrupted ensure or remove left on the machine. */
  removeLeftovers(keep: ReadonlySet<string>): Promise<string[]>;
  /** Lets go of watchers, open files and what is paused; the containers stay. */
  close(): Promise<void>;
}

export interface Container {
  /** Unique in the runtime: lower-case letters, digits and dashes, 63 at most. */
  name: string;
  /** Folders, lowest first, as the images driver gives them; the root is their union, read-only. */
  layers: readonly string[];
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string>>;
  user: { uid: number; gid: number };
  workingFolder: string;
  /** Folders inside that can be written to and are gone with the container; together they share `limits.diskBytes`. */
  writable: readonly string[];
  mounts: readonly Mount[];
  limits: Limits;
  /** Containers of one network see each other and nobody else's. It exists while it has containers. */
  network: string;
  /** Names under which its neighbours find it. Several containers may share one. */
  names: readonly string[];
  /** Addresses by name, for itself only, beside those of its neighbours. */
  hosts?: Readonly<Record<string, string>>;
  /** What the container may reach outside of its network, besides name servers. Undefined: the whole internet. */
  outbound?: readonly OutboundRule[];
  /** A Unix socket that the container listens on for its machine, besides its network, in one of the folders of `writable`; `state` tells where the machine finds it. */
  socket?: string;
  /** Text files by path, directly in folders of `writable`, that the container can read. They change in place. */
  files?: Readonly<Record<string, string>>;
  /** Who the container is among its peers. The addresses of all peers of the group are in a file by name, directly in a folder of `writable`. */
  peer?: { group: string; name: string; at: string };
  /** A log file of the machine to which the container's output is added, besides what `logs` gives; it stays when the container goes. Its folder must exist. */
  output?: string;
  /**
   * Whether it makes namespaces, mounts and users of its own, as programs do that build images. It is root of its own range of users then, and of nothing else:
   * what it makes ends with it. More of the kernel is open to it than to others, so only builds have it.
   */
  nested?: boolean;
  probe?: Probe;
  restart: 'never' | 'on-failure' | 'always';
  stop: { signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT'; secondsMax: number };
}

/** A folder of the machine inside the container. Files belong inside to the users they belong to in `from`, whichever range the network has. */
export interface Mount {
  from: string;
  /**
   * A folder inside `from`, made where it is missing, which belongs to whom `from` belongs to. Whoever writes to a volume may leave links in
   * it; no link is followed on the way, and one that stands in it is refused.
   */
  below?: string;
  at: string;
  writable: boolean;
}

/** TCP to these addresses and ports. What no rule lets out is dropped; what nobody may reach stays dropped whatever rules say. */
export interface OutboundRule {
  /** Addresses and ranges of IPv4 or IPv6 (which leads nowhere where there is only IPv4). Empty: nothing. */
  ips: readonly string[];
  /** Empty: all ports. */
  ports: readonly number[];
}

/** A port of the machine for containers. */
export interface AdmittedPort {
  /** A word. The next port for the same purpose takes the place of this one. */
  purpose: string;
  /** Where something on the machine listens. */
  port: number;
  /** The port that containers connect to. */
  as: number;
  /** What a container meets that connects while nothing listens: a refusal, or silence, so that it tries on until something does or it loses patience. */
  whileNobodyListens: 'refuse' | 'wait';
}

export interface Limits {
  /** In cores: 0.5 is half of one. */
  cpu: number;
  memoryBytes: number;
  pids: number;
  diskBytes: number;
}

export type Probe = (
  | { kind: 'port'; port: number }
  | { kind: 'http'; port: number; path: string }
  /** Something listens on `socket`. */
  | { kind: 'socket' }
  | { kind: 'command'; argv: readonly [string, ...string[]] }
) & { secondsMax: number };

export type ContainerStatus = 'absent' | 'starting' | 'running' | 'paused' | 'restarting' | 'stopped';

export interface ContainerState {
  name: string;
  status: ContainerStatus;
  network?: string;
  /** The layers that it starts from, also the next time. */
  layers?: readonly string[];
  /** Where neighbours and the platform's own machine reach it. */
  address?: string;
  /** Where the machine finds its socket. The container may put anything there, even links: whoever connects follows none. */
  socket?: string;
  startedAt?: Date;
  /** How it last ended, if it did. */
  exit?: { code: number; outOfMemory: boolean; at: Date };
  restarts: number;
}

export interface Command {
  argv: readonly [string, ...string[]];
  env?: Readonly<Record<string, string>>;
  user?: { uid: number; gid: number };
  workingFolder?: string;
  /** A terminal: output and errors arrive together. `TERM` is in `env`, or the usual. */
  terminal?: { columns: number; rows: number };
  /** Whether the processes that the command leaves in its session are ended with it, once they say nothing any more; otherwise the command counts as running until nobody holds its output. */
  leavesNothing?: boolean;
}

export interface Execution {
  stdin: Writable;
  /** What was written before the end arrives however slowly it is read; closing it before the end kills what writes. */
  stdout: Readable;
  /** Empty with a terminal. */
  stderr: Readable;
  resize(columns: number, rows: number): void;
  /** Signals the command and what it started, except what has a process group of its own by now. SIGKILL is for its whole session, and always ends the execution. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Nobody is there any more: the command, and all that it started in its session, gets a hangup, and is killed where it does not heed that. */
  hangUp(): Promise<void>;
  /** 128 + signal where a signal ended it. */
  readonly exited: Promise<number>;
}

export interface LogOptions {
  /** The last so many lines; all that are kept where absent. */
  tail?: number;
  since?: Date;
  /** Goes on with lines as they come, until aborted. */
  follow?: AbortSignal;
}

export interface LogLine {
  at: Date;
  stream: 'stdout' | 'stderr';
  text: string;
}

/** Counters grow from 0 with each start of the container. */
export interface ContainerStatistics {
  name: string;
  startedAt: Date;
  /** When it was counted. */
  at: Date;
  cpuSeconds: number;
  /** In cores. */
  cpuLimit: number;
  /** Seconds that its processes were kept from going on, because they had used up what the limit gave them. */
  throttledSeconds: number;
  /** As the limit counts it, without file pages that nobody uses at the moment: those would be given back at once. */
  memoryBytes: number;
  memoryLimitBytes: number;
  swapBytes: number;
  swapLimitBytes: number;
  /** How many of its processes were killed for want of memory. */
  outOfMemoryKills: number;
  pids: number;
  diskReadBytes: number;
  diskWrittenBytes: number;
  networkReceivedBytes: number;
  networkSentBytes: number;
  /** Undefined where the kernel does not tell. */
  pressure: Pressure | undefined;
  /** The name of the volume that has the folders which it can write to and which go with it, where there are any. */
  temporaryVolume: string;
}

/** Seconds in which a process of the container stood waiting: for a core, memory or a disk; and in which all stood while the kernel served interrupts. */
export interface Pressure {
  cpuSeconds: number;
  memorySeconds: number;
  ioSeconds: number;
  irqSeconds: number;
}

export interface ContainerStats extends ContainerStatistics {
  /** How much of `limits.diskBytes` is used. */
  diskUsedBytes: number;
}
