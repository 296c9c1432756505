/** A span as OpenTelemetry reports it, with no more than the platform has a use for. */

/** Spans of one instrumentation library of one process. */
export interface SpanGroup {
  /** Of the process: its language, its runtime. */
  resource: Attributes;
  /** The name of the instrumentation library. */
  library: string;
  spans: Span[];
}

export interface Span {
  /** Hexadecimal, lower case; the same for all spans of one request. */
  trace: string;
  id: string;
  /** Empty: the span has no parent. */
  parent: string;
  name: string;
  kind: SpanKind;
  /** Unix milliseconds. */
  start: number;
  microseconds: number;
  isError: boolean;
  attributes: Attributes;
}

export type Attributes = Partial<Record<string, AttributeValue>>;
export type AttributeValue = string | number | boolean;

/** In the order of their numbers. */
export const spanKinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
export type SpanKind = (typeof spanKinds)[number];

export const spanKindOf = (number: number): SpanKind => spanKinds[number] ?? 'unspecified';

export const errorStatus = 2;

/** Attributes that mean something to the platform; others are not even read. Where a name was changed, new and old are here. */
export const attributeNames = {
  route: ['http.route'],
  method: ['http.request.method', 'http.method'],
  status: ['http.response.status_code', 'http.status_code'],
  httpHost: ['server.address', 'http.host', 'net.host.name', 'http.server_name'],
  output: ['http.response.body.size', 'http.response_content_length', 'http.response_content_length_uncompressed'],
  peakMemory: ['process.memory.peak', 'php.memory.peak_usage', 'memory.peak_usage'],
  peer: ['peer.service', 'service.peer.name', 'db.system.name', 'db.system', 'messaging.system', 'rpc.system.name', 'rpc.system'],
  language: ['telemetry.sdk.language'],
  framework: ['webengine.name'],
  runtimeName: ['process.runtime.name'],
  runtimeVersion: ['process.runtime.version'],
  os: ['os.type'],
  host: ['host.name'],
} as const satisfies Record<string, readonly string[]>;

export type AttributeName = keyof typeof attributeNames;

const read: ReadonlySet<string> = new Set(Object.values(attributeNames).flat());
export const isRead = (name: string) => read.has(name);

/** The first of the attribute's names that the span has. */
export function attributeOf(attributes: Attributes, name: AttributeName): AttributeValue | undefined {
  for (const each of attributeNames[name]) if (attributes[each] !== undefined) return attributes[each];
  return undefined;
}

/** What was sent is not a request of OTLP. */
export class Malformed extends Error {}

/** How many spans of a group are decoded before whoever decodes may do something else. */
export const spansPerGroup = 500;

export const idCharacters = { trace: 32, span: 16 } as const;
const noTrace = '0'.repeat(idCharacters.trace);
const noSpan = '0'.repeat(idCharacters.span);

/** A span that names no trace, or not itself, belongs to nothing. */
export const isIdentified = ({ trace, id }: Pick<Span, 'trace' | 'id'>) =>
  trace.length === idCharacters.trace && id.length === idCharacters.span && trace !== noTrace && id !== noSpan;

/** What decoding goes through: groups of spans, and how many spans could not be used. */
export interface Decoded {
  groups: Iterable<SpanGroup>;
  /** Grows while groups are read. */
  refused: { spans: number };
}

/** Longer texts are cut, so that what is kept of a request is in proportion to it. */
export const textBytesMax = 4096;
