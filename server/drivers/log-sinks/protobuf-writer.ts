/** Writes the wire format of Protocol Buffers, as far as logs need it. A message is the fields that it is made of, one after the other. */

const wireTypes = { varint: 0, fixed64: 1, bytes: 2 } as const;
const nanosecondsPerMillisecond = 1_000_000n;

const tag = (field: number, wire: keyof typeof wireTypes) => varint(field * 8 + wireTypes[wire]);

/** For whole numbers that are not below zero. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export const numberField = (field: number, value: number): Buffer => Buffer.concat([tag(field, 'varint'), varint(value)]);

export const textField = (field: number, text: string): Buffer => messageField(field, [Buffer.from(text)]);

export function messageField(field: number, parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([tag(field, 'bytes'), varint(length), ...parts]);
}

/** Milliseconds since 1970, written in nanoseconds. */
export function timeField(field: number, time: number): Buffer {
  const fixed = Buffer.alloc(8);
  fixed.writeBigUInt64LE(BigInt(Math.max(0, Math.trunc(time))) * nanosecondsPerMillisecond);
  return Buffer.concat([tag(field, 'fixed64'), fixed]);
}
