/** Traces as they arrive, in both encodings: what a writer of our own wrote, what a real SDK sent, and what nobody should send. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeJson } from './decode-json.ts';
import { decodeProtobuf } from './decode-protobuf.ts';
import { acceptance, refusal } from './reply.ts';
import { type Decoded, Malformed, spanKindOf } from './span.ts';
import { asJson, asProtobuf, fieldOf, type WrittenRequest, type WrittenSpan } from './test-request.ts';

const spansIn = ({ groups }: Decoded) =>
  [...groups].flatMap(({ resource, library, spans }) => spans.map((span) => ({ resource, library, ...span })));

const hex = (characters: number) =>
  fc.array(fc.integer({ min: 0, max: 15 }), { minLength: characters, maxLength: characters }).map(
    (all) =>
      `1${all
        .map((digit) => digit.toString(16))
        .join('')
        .slice(1)}`,
  );
const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const value = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((each) => !Number.isInteger(each)),
);
const attributes = fc.dictionary(
  fc.constantFrom('http.route', 'http.request.method', 'http.status_code', 'os.type', 'of.no.use', '__proto__'),
  value,
  {
    noNullPrototype: true,
  },
);
const span: fc.Arbitrary<WrittenSpan> = fc.record({
  trace: hex(32),
  id: hex(16),
  parent: fc.oneof(fc.constant(''), hex(16)),
  name: text,
  kind: fc.integer({ min: 0, max: 5 }),
  start: fc.bigInt({ min: 0n, max: 2n ** 62n }),
  nanoseconds: fc.integer({ min: 0, max: 2 ** 40 }),
  isError: fc.boolean(),
  attributes,
});
const request: fc.Arbitrary<WrittenRequest> = fc.array(
  fc.record({
    resource: attributes,
    libraries: fc.array(fc.record({ name: text, spans: fc.array(span, { maxLength: 5 }) }), { maxLength: 3 }),
  }),
  { maxLength: 3 },
);

const unread = new Set(['of.no.use', '__proto__']);
const known = (all: Record<string, unknown>) => Object.fromEntries(Object.entries(all).filter(([name]) => !unread.has(name)));

const expected = (written: WrittenRequest) =>
  written.flatMap(({ resource, libraries }) =>
    libraries.flatMap(({ name: library, spans }) =>
      spans.map(({ kind, start, nanoseconds, attributes: own, ...rest }) => ({
        resource: known(resource),
        library,
        ...rest,
        kind: spanKindOf(kind),
        start: Number(start) / 1e6,
        microseconds: nanoseconds / 1000,
        attributes: known(own),
      })),
    ),
  );

describe('any request', () => {
  test('comes out of protobuf as it was written, in whichever order its fields are', () => {
    fc.assert(
      fc.property(request, fc.boolean(), (written, isReversed) => {
        expect(spansIn(decodeProtobuf(asProtobuf(written, { isReversed })))).toEqual(expected(written));
      }),
    );
  });

  test('comes out of JSON as it was written', () => {
    fc.assert(
      fc.property(request, (written) => {
        expect(spansIn(decodeJson(asJson(written)))).toEqual(expected(written));
      }),
    );
  });

  test('with fields that are not known yet, at every level, is read all the same', () => {
    fc.assert(
      fc.property(request, fc.uint8Array({ maxLength: 20 }), (written, unknown) => {
        expect(spansIn(decodeProtobuf(asProtobuf(written, { unknown: Buffer.from(unknown) })))).toEqual(expected(written));
      }),
    );
  });

  test('that is cut off is read as far as whole processes go, or refused', () => {
    fc.assert(
      fc.property(request, fc.double({ min: 0, max: 1, noNaN: true }), (written, share) => {
        const whole = asProtobuf(written);
        const cut = whole.subarray(0, Math.floor(whole.length * share));
        const read = readOrRefused(() => spansIn(decodeProtobuf(cut)));
        expect(read === 'refused' || read.length <= expected(written).length).toBe(true);
      }),
    );
  });
});

/** Everything else that is thrown fails the test. */
function readOrRefused<T>(read: () => T): T | 'refused' {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) return 'refused';
    throw error;
  }
}

describe('what nobody should send', () => {
  test('any bytes are read or refused, and nothing else happens', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        for (const decode of [decodeProtobuf, decodeJson]) expect(readOrRefused(() => spansIn(decode(Buffer.from(bytes))))).toBeDefined();
      }),
      { numRuns: 1000 },
    );
  });

  test('any JSON is read or refused, and nothing else happens', () => {
    const words = [
      'resourceSpans',
      'scopeSpans',
      'spans',
      'resource',
      'scope',
      'attributes',
      'traceId',
      'startTimeUnixNano',
      'status',
      'kind',
    ];
    const tree = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(null, 1, '', -1, '5e400', true),
        fc.array(tie('any'), { maxLength: 3 }),
        tie('object'),
      ),
      object: fc.dictionary(fc.constantFrom(...words), tie('any'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(tree.object, (any) => {
        expect(readOrRefused(() => spansIn(decodeJson(Buffer.from(JSON.stringify(any)))))).toBeDefined();
      }),
    );
  });

  test.each<[string, string | Buffer]>([
    ['a number without an end', 'ff'.repeat(20)],
    ['a number of eleven bytes', '0a80808080808080808080808000'],
    ['a length beyond the request', '0aff0f00'],
    ['a length of 2^63', '0affffffffffffffff7f'],
    ['a length below zero', '0affffffffffffffffff01'],
    ['a length beyond its own message', '0a03120a00'],
    ['the field number 0', '0200'],
    ['a group, which OTLP has not', '0b0c'],
    ['an unknown wire type', '0f00'],
  ])('%s is refused', (_, bytes) => {
    expect(() => spansIn(decodeProtobuf(Buffer.from(bytes.toString(), 'hex')))).toThrow(Malformed);
  });

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['a text for a list', '{"resourceSpans":"x"}'],
    ['a time below zero', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"-1"}]}]}]}'],
    ['a time of 2^64', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"18446744073709551616"}]}]}]}'],
    ['a time that is no number', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"0x10"}]}]}]}'],
  ])('%s is refused', (_, body) => {
    expect(() => spansIn(decodeJson(Buffer.from(body)))).toThrow(Malformed);
  });

  test('a known field of another wire type counts as unknown', () => {
    const spanWithNumberForName = fieldOf(1, fieldOf(2, fieldOf(2, Buffer.from('2805', 'hex'))));
    const { groups, refused } = decodeProtobuf(spanWithNumberForName);
    expect([...groups]).toEqual([]);
    expect(refused.spans).toBe(1);
  });

  test('spans without a trace or an id are counted and not kept: hundreds of thousands of them take no memory', () => {
    const count = 200_000;
    const body = fieldOf(1, fieldOf(2, Buffer.alloc(2 * count, Buffer.from([0x12, 0x00]))));
    const { groups, refused } = decodeProtobuf(body);
    expect([...groups]).toEqual([]);
    expect(refused.spans).toBe(count);
  });

  test('messages in messages in messages take no stack', () => {
    let nested = Buffer.alloc(0);
    for (let depth = 0; depth < 1000; depth++) nested = fieldOf(6, fieldOf(2, fieldOf(1, nested)));
    const attribute = fieldOf(9, Buffer.concat([fieldOf(1, Buffer.from('http.route')), fieldOf(2, nested)]));
    expect([...decodeProtobuf(fieldOf(1, fieldOf(2, fieldOf(2, attribute)))).groups]).toEqual([]);
    const deep = `{"resourceSpans":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(() => spansIn(decodeJson(Buffer.from(deep)))).toThrow(Malformed);
  });

  test('a text of megabytes is cut', () => {
    const written = [{ resource: {}, libraries: [{ name: '', spans: [{ ...spanLike, name: 'x'.repeat(2 ** 21) }] }] }];
    for (const [read] of [spansIn(decodeProtobuf(asProtobuf(written))), spansIn(decodeJson(asJson(written)))])
      expect(read?.name).toBe('x'.repeat(4096));
  });
});

const spanLike: WrittenSpan = {
  trace: '1'.repeat(32),
  id: '2'.repeat(16),
  parent: '',
  name: 'x',
  kind: 2,
  start: 1n,
  nanoseconds: 1,
  isError: false,
  attributes: {},
};

describe('what is answered', () => {
  test('is empty where everything was taken', () => {
    expect(acceptance('protobuf', 0, '')).toHaveLength(0);
    expect(acceptance('json', 0, '').toString()).toBe('{}');
  });

  test('says how many spans were rejected, and why', () => {
    expect(acceptance('protobuf', 300, 'why').toString('hex')).toBe(`0a0808ac021203${Buffer.from('why').toString('hex')}`);
    expect(JSON.parse(acceptance('json', 300, 'why').toString())).toEqual({
      partialSuccess: { rejectedSpans: '300', errorMessage: 'why' },
    });
  });

  test('is a status with a message where nothing was taken', () => {
    expect(refusal('protobuf', 16, 'no').toString('hex')).toBe(`08101202${Buffer.from('no').toString('hex')}`);
    expect(JSON.parse(refusal('json', 16, 'no').toString())).toEqual({ code: 16, message: 'no' });
  });
});
