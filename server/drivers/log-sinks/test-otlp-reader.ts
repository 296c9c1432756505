/** Reads requests of OTLP with logs, for tests, apart from what writes them: with BigInt, and any message as its fields by number. */
type Fields = Map<number, (Buffer | bigint)[]>;

function fieldsOf(message: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = () => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = BigInt(message[at++] ?? 0);
      value |= (byte & 127n) << shift;
      if (byte < 128n) return value;
      shift += 7n;
    }
  };
  const fixed = () => message.readBigUInt64LE((at += 8) - 8);
  const bytes = () => {
    const length = Number(varint());
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const value = [varint, fixed, bytes][tag & 7]?.();
    if (value === undefined || at > message.length) throw new Error(`wire type ${tag & 7} at ${at}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, field: number) => (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer));
const text = (fields: Fields | undefined, field: number) => String(fields?.get(field)?.[0] ?? '');
const attributes = (fields: Fields, field: number) =>
  Object.fromEntries(messages(fields, field).map((each) => [text(each, 1), text(messages(each, 2)[0], 1)]));

export const readOtlpLogs = (body: Buffer) =>
  messages(fieldsOf(body), 1).map((resourceLogs) => ({
    resource: attributes(messages(resourceLogs, 1)[0] ?? new Map(), 1),
    scopes: messages(resourceLogs, 2).map((scopeLogs) => ({
      name: text(messages(scopeLogs, 1)[0], 1),
      records: messages(scopeLogs, 2).map((record) => ({
        nanoseconds: record.get(1)?.[0],
        observed: record.get(11)?.[0],
        severity: Number(record.get(2)?.[0]),
        severityText: text(record, 3),
        body: text(messages(record, 5)[0], 1),
        attributes: attributes(record, 6),
      })),
    })),
  }));
