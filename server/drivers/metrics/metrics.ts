/**
 * What was measured of environments: requests and what they took, and what containers used. Records go in by the batch and never make anybody wait; questions about them are answered
 * exactly, or within `percentileError` where a percentile is taken from sums made earlier. Times are Unix: milliseconds in records, seconds in questions.
 */
import type { Breakdown, BreakdownQuestion } from './breakdown.ts';
import type { Facet, FacetsQuestion } from './facets.ts';
import type { ResourcesQuestion, ResourcesRow, SpanRow, SpansQuestion, Traffic, TrafficQuestion, UsageQuestion } from './questions.ts';

export interface Scope {
  project: string;
  /** The environment's machine name, which no other environment of the project ever has. */
  environment: string;
}

export const contexts = ['web', 'cli'] as const;
export type Context = (typeof contexts)[number];

/** One request or command that an app has answered or run. */
export interface TransactionRecord extends Scope {
  time: number;
  context: Context;
  /** Undefined: nobody could name it. */
  transaction?: string | undefined;
  application: string;
  instance: string;
  /** 0: it has none, as a command. */
  status: number;
  httpHost: string;
  host: string;
  framework: string;
  language: string;
  method: string;
  runtime: string;
  os: string;
  /** Microseconds. */
  wallTime: number;
  /** Bytes. */
  peakMemory: number;
  /** Bytes. */
  output: number;
}

/** A part of a transaction, such as a query to a database. It has the dimensions of its transaction, so that the same filters hold. */
export interface SpanRecord extends TransactionRecord {
  /** Hexadecimal; the same for all spans of one request. */
  trace: string;
  span: string;
  label: string;
  service: string;
  /** Microseconds of the span itself; `wallTime` is that of its request. */
  spanTime: number;
}

/** One request that the edge has answered. */
export interface RequestRecord extends Scope {
  time: number;
  application: string;
  /** Which one was asked; empty, or absent, where the edge answered by itself. */
  instance?: string;
  domain: string;
  method: string;
  url: string;
  ip: string;
  userAgent: string;
  status: number;
  /** Microseconds. */
  wallTime: number;
  requestBytes: number;
  responseBytes: number;
  isFromCache?: boolean;
}

/** What an instance used over some seconds. */
export interface SampleRecord extends Scope {
  time: number;
  service: string;
  instance: string;
  /** How long the sample stands for. */
  seconds: number;
  /** Processors. */
  cpuUsed: number;
  cpuLimit: number;
  memoryUsed: number;
  memoryLimit: number;
  swapUsed: number;
  swapLimit: number;
  /** Shares of the time in which somebody had to wait for it, 0 to 1. */
  cpuPressure: number;
  memoryPressure: number;
  ioPressure: number;
  irqPressure: number;
  /** Bytes within these seconds. */
  receivedBytes: number;
  sentBytes: number;
}

/** The mount that stands for the disk of an app or service, and the one for what goes with the container. */
export const diskMount = '/mnt';
export const temporaryMount = '/tmp';

export interface MountSampleRecord extends Scope {
  time: number;
  service: string;
  instance: string;
  seconds: number;
  /** Its path; empty for the root. */
  mount: string;
  diskUsed: number;
  diskLimit: number;
  inodesUsed: number;
  inodesLimit: number;
}

export interface Records {
  transactions: TransactionRecord;
  spans: SpanRecord;
  requests: RequestRecord;
  samples: SampleRecord;
  mounts: MountSampleRecord;
}

export type Kind = keyof Records;
export const kinds = ['transactions', 'spans', 'requests', 'samples', 'mounts'] as const satisfies readonly Kind[];

/** A question that was not answered, because more would have to be read for it than is allowed; nothing was read. */
export interface TooMuch {
  tooMuch: { what: 'seconds' | 'points' | 'records'; asked: number; most: number };
}

export const isTooMuch = (answer: object): answer is TooMuch => 'tooMuch' in answer;

/** What became of records that were appended, by kind. */
export interface Tallied {
  stored: number;
  waiting: number;
  /** Given up for want of room: in memory, while the store did not take them, or on the disk. */
  dropped: number;
}

export interface MetricsStatus {
  kinds: Record<Kind, Tallied>;
  /** Undefined: the store takes records. Otherwise why it does not. */
  trouble?: string | undefined;
  /** How often a process of the store was found, or started, by this one. */
  starts: number;
}

/** What billing and the carbon account sum up. */
export interface Usage extends Scope {
  /** Where it was asked for: the app, worker, service or task. Empty where there is none: transactions, and requests that no app has answered. */
  service?: string | undefined;
  /** Unix seconds of the full hour. */
  hour: number;
  transactions: number;
  requests: number;
  requestBytes: number;
  responseBytes: number;
  cpuSeconds: number;
  memoryByteSeconds: number;
  diskByteSeconds: number;
  /** Of that, what is on disks that stay. */
  storedByteSeconds: number;
  receivedBytes: number;
  sentBytes: number;
}

/** What a store keeps, and how much of it one question may be about. */
export interface MetricsLimits {
  keptDays: Record<Kind, number>;
  /** What one question may span. */
  secondsMax: number;
  pointsMax: number;
}

export interface Metrics {
  readonly limits: MetricsLimits;
  /** Returns at once. What does not fit is counted as dropped. */
  append<K extends Kind>(kind: K, records: readonly Records[K][]): void;
  /** Resolves when everything that was appended before is stored, or dropped. */
  settled(): Promise<void>;
  breakdown(question: BreakdownQuestion): Promise<Breakdown | TooMuch>;
  topSpans(question: SpansQuestion): Promise<SpanRow[] | TooMuch>;
  traffic(question: TrafficQuestion): Promise<Traffic | TooMuch>;
  facets(question: FacetsQuestion): Promise<Facet[] | TooMuch>;
  /** Of instances, and of what is mounted in them. */
  resources(question: ResourcesQuestion): Promise<ResourcesRow[] | TooMuch>;
  /** By hour, project and environment; on demand, by service, too. */
  usage(question: UsageQuestion): Promise<Usage[]>;
  status(): MetricsStatus;
  close(): Promise<void>;
}
