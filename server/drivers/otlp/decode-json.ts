/** `ExportTraceServiceRequest` in JSON, as OTLP maps it: names in camelCase, ids in hexadecimal, 64-bit numbers as text or numbers, enumerations as numbers. */
import {
  type Attributes,
  type AttributeValue,
  type Decoded,
  type Span,
  type SpanGroup,
  errorStatus,
  idCharacters,
  isIdentified,
  isRead,
  Malformed,
  spanKindOf,
  spansPerGroup,
  textBytesMax,
} from './span.ts';

type Message = Partial<Record<string, unknown>>;

export function decodeJson(body: Buffer): Decoded {
  const refused = { spans: 0 };
  return { refused, groups: groupsOf(messageOf(parsed(body)), refused) };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new Malformed('The request is not JSON.');
  }
}

function* groupsOf({ resourceSpans }: Message, refused: Decoded['refused']): Generator<SpanGroup> {
  for (const { resource, scopeSpans } of listOf(resourceSpans)) {
    const ofProcess = attributesIn(messageOf(resource ?? {})['attributes']);
    for (const { scope, spans } of listOf(scopeSpans)) {
      const library = textOf(messageOf(scope ?? {})['name']);
      const read = listOf(spans).map(spanOf);
      const identified = read.filter(isIdentified);
      refused.spans += read.length - identified.length;
      for (let at = 0; at < identified.length; at += spansPerGroup)
        yield { resource: ofProcess, library, spans: identified.slice(at, at + spansPerGroup) };
    }
  }
}

function spanOf(span: Message): Span {
  const [start, end] = [nanosecondsOf(span['startTimeUnixNano']), nanosecondsOf(span['endTimeUnixNano'])];
  return {
    trace: idOf(span['traceId'], idCharacters.trace),
    id: idOf(span['spanId'], idCharacters.span),
    parent: idOf(span['parentSpanId'], idCharacters.span),
    name: textOf(span['name']),
    kind: spanKindOf(numberOf(span['kind'] ?? 0)),
    start: Number(start) / 1e6,
    microseconds: Number(end - start) / 1000,
    isError: messageOf(span['status'] ?? {})['code'] === errorStatus,
    attributes: attributesIn(span['attributes']),
  };
}

const isMessage = (value: unknown): value is Message => typeof value === 'object' && value !== null && !Array.isArray(value);

function messageOf(value: unknown): Message {
  if (isMessage(value)) return value;
  throw new Malformed('The request has something else where an object is expected.');
}

/** Absent and null are an empty list, as everywhere in this mapping. */
function listOf(value: unknown): Message[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Malformed('The request has something else where a list is expected.');
  return value.map(messageOf);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new Malformed('The request has something else where a text is expected.');
  return value.slice(0, textBytesMax);
}

/** Ids of another length are none. */
function idOf(value: unknown, characters: number): string {
  const id = textOf(value).toLowerCase();
  return id.length === characters && /^[0-9a-f]+$/.test(id) ? id : '';
}

const nanosecondsMax = 2n ** 64n;

function nanosecondsOf(value: unknown): bigint {
  if (value === undefined || value === null) return 0n;
  const isWhole = typeof value === 'number' ? Number.isSafeInteger(value) && value >= 0 : /^\d{1,20}$/.test(textOf(value));
  const nanoseconds = isWhole ? BigInt(value as string | number) : nanosecondsMax;
  if (nanoseconds >= nanosecondsMax) throw new Malformed('A time of a span is not one in nanoseconds.');
  return nanoseconds;
}

function numberOf(value: unknown): number {
  const number = typeof value === 'string' && value.length <= 30 && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw new Malformed('The request has something else where a number is expected.');
  return number;
}

function attributesIn(list: unknown): Attributes {
  const attributes: Attributes = {};
  for (const { key, value } of listOf(list)) {
    const name = textOf(key);
    if (!isRead(name) || value === undefined || value === null) continue;
    const read = valueOf(messageOf(value));
    if (read !== undefined) attributes[name] = read;
  }
  return attributes;
}

function valueOf({ stringValue, boolValue, intValue, doubleValue }: Message): AttributeValue | undefined {
  if (stringValue !== undefined) return textOf(stringValue);
  if (boolValue !== undefined) return boolValue === true;
  if (intValue !== undefined) return numberOf(intValue);
  return doubleValue === undefined ? undefined : numberOf(doubleValue);
}
