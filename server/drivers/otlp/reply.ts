/** What senders of traces are answered, in the encoding that they sent: `ExportTraceServiceResponse`, or `google.rpc.Status` where nothing was taken. */

export const encodings = { 'application/x-protobuf': 'protobuf', 'application/json': 'json' } as const;
export type Encoding = (typeof encodings)[keyof typeof encodings];

export const mediaTypes: Record<Encoding, string> = { protobuf: 'application/x-protobuf', json: 'application/json' };

/** `sentence` says why spans were rejected. With none rejected the reply is empty. */
export function acceptance(encoding: Encoding, rejected: number, sentence: string): Buffer {
  if (encoding === 'json')
    return json(rejected === 0 ? {} : { partialSuccess: { rejectedSpans: String(rejected), errorMessage: sentence } });
  return rejected === 0 ? Buffer.alloc(0) : field(1, Buffer.concat([number(1, rejected), field(2, Buffer.from(sentence))]));
}

/** `code` is one of gRPC. */
export const refusal = (encoding: Encoding, code: number, message: string): Buffer =>
  encoding === 'json' ? json({ code, message }) : Buffer.concat([number(1, code), field(2, Buffer.from(message))]);

const json = (value: object) => Buffer.from(JSON.stringify(value));

const field = (at: number, value: Buffer) => Buffer.concat([Buffer.from([at * 8 + 2]), varint(value.length), value]);
const number = (at: number, value: number) => Buffer.concat([Buffer.from([at * 8]), varint(value)]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
