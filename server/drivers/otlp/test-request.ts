/** Writes requests of OTLP as senders do, in both encodings, apart from what reads them: with BigInt, and field by field. */

export type WrittenRequest = { resource: WrittenAttributes; libraries: { name: string; spans: WrittenSpan[] }[] }[];
export type WrittenAttributes = Record<string, string | number | boolean>;

export interface WrittenSpan {
  trace: string;
  id: string;
  parent: string;
  name: string;
  kind: number;
  /** Unix nanoseconds. */
  start: bigint;
  nanoseconds: number;
  isError: boolean;
  attributes: WrittenAttributes;
}

export interface HowWritten {
  isReversed?: boolean;
  /** The content of a field that nobody knows, added to each message. */
  unknown?: Buffer;
}

export function asProtobuf(request: WrittenRequest, how: HowWritten = {}): Buffer {
  const message = (...fields: Buffer[]) => {
    const all = how.unknown ? [fieldOf(999, how.unknown), ...fields] : fields;
    return Buffer.concat(how.isReversed ? all.toReversed() : all);
  };
  const attribute = ([name, value]: [string, string | number | boolean]) =>
    message(fieldOf(1, Buffer.from(name)), fieldOf(2, valueOf(value)));
  const inOrder = <T>(list: T[]) => (how.isReversed ? list.toReversed() : list);
  const attributes = (field: number, all: WrittenAttributes) => inOrder(Object.entries(all).map((each) => fieldOf(field, attribute(each))));
  const span = ({ trace, id, parent, name, kind, start, nanoseconds, isError, attributes: own }: WrittenSpan) =>
    message(
      fieldOf(1, Buffer.from(trace, 'hex')),
      fieldOf(2, Buffer.from(id, 'hex')),
      ...(parent === '' ? [] : [fieldOf(4, Buffer.from(parent, 'hex'))]),
      fieldOf(5, Buffer.from(name)),
      numberOf(6, BigInt(kind)),
      fixedOf(7, start),
      fixedOf(8, start + BigInt(nanoseconds)),
      ...attributes(9, own),
      ...(isError ? [fieldOf(15, message(fieldOf(2, Buffer.from('because')), numberOf(3, 2n)))] : []),
    );
  return message(
    ...inOrder(request).map(({ resource, libraries }) =>
      fieldOf(
        1,
        message(
          fieldOf(1, message(...attributes(1, resource))),
          ...inOrder(libraries).map(({ name, spans }) =>
            fieldOf(
              2,
              message(fieldOf(1, message(fieldOf(1, Buffer.from(name)))), ...inOrder(spans).map((each) => fieldOf(2, span(each)))),
            ),
          ),
        ),
      ),
    ),
  );
}

export function asJson(request: WrittenRequest): Buffer {
  const attributes = (all: WrittenAttributes) => Object.entries(all).map(([key, value]) => ({ key, value: jsonValue(value) }));
  const span = ({ trace, id, parent, name, kind, start, nanoseconds, isError, attributes: own }: WrittenSpan) => ({
    traceId: trace.toUpperCase(),
    spanId: id,
    ...(parent !== '' && { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + BigInt(nanoseconds)),
    attributes: attributes(own),
    status: isError ? { code: 2, message: 'because' } : {},
  });
  const resourceSpans = request.map(({ resource, libraries }) => ({
    resource: { attributes: attributes(resource) },
    scopeSpans: libraries.map(({ name, spans }) => ({ scope: { name }, spans: spans.map(span) })),
  }));
  return Buffer.from(JSON.stringify({ resourceSpans }));
}

const jsonValue = (value: string | number | boolean) => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) && !Object.is(value, -0) ? { intValue: String(value) } : { doubleValue: value };
};

function valueOf(value: string | number | boolean): Buffer {
  if (typeof value === 'string') return fieldOf(1, Buffer.from(value));
  if (typeof value === 'boolean') return numberOf(2, value ? 1n : 0n);
  if (Number.isInteger(value) && !Object.is(value, -0)) return numberOf(3, BigInt(value));
  const double = Buffer.alloc(8);
  double.writeDoubleLE(value);
  return Buffer.concat([varint(4n * 8n + 1n), double]);
}

/** A field that holds bytes, a text or a message. */
export const fieldOf = (field: number, content: Buffer) =>
  Buffer.concat([varint(BigInt(field) * 8n + 2n), varint(BigInt(content.length)), content]);

const numberOf = (field: number, value: bigint) => Buffer.concat([varint(BigInt(field) * 8n), varint(value)]);

function fixedOf(field: number, value: bigint): Buffer {
  const fixed = Buffer.alloc(8);
  fixed.writeBigUInt64LE(value);
  return Buffer.concat([varint(BigInt(field) * 8n + 1n), fixed]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest >= 128n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}
