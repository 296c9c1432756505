/**
 * `ExportTraceServiceRequest` in protobuf. Only the fields that are asked for are decoded; a library that decodes all of them takes three times as long.
 * Spans are decoded group by group, as whoever asks goes on.
 */
import {
  type Attributes,
  type AttributeValue,
  type Decoded,
  type Span,
  type SpanGroup,
  errorStatus,
  isIdentified,
  isRead,
  spanKindOf,
  spansPerGroup,
} from './span.ts';
import { difference, wholeNumber, WireReader, wireTypes } from './wire-reader.ts';

const { varint, fixed64, bytes } = wireTypes;

export function decodeProtobuf(body: Buffer): Decoded {
  const refused = { spans: 0 };
  return { refused, groups: groupsOf(new WireReader(body), refused) };
}

function* groupsOf(request: WireReader, refused: Decoded['refused']): Generator<SpanGroup> {
  while (request.next()) {
    if (request.is(1, bytes)) yield* resourceGroups(request.message(), refused);
    else request.skip();
  }
}

function* resourceGroups(message: WireReader, refused: Decoded['refused']): Generator<SpanGroup> {
  const resource: Attributes = {};
  readEach(message.again(), 1, (each) => readEach(each, 1, (attribute) => readAttribute(attribute, resource)));
  while (message.next()) {
    if (message.is(2, bytes)) yield* libraryGroups(message.message(), resource, refused);
    else message.skip();
  }
}

function* libraryGroups(message: WireReader, resource: Attributes, refused: Decoded['refused']): Generator<SpanGroup> {
  const library = libraryName(message.again());
  let spans: Span[] = [];
  while (message.next()) {
    if (!message.is(2, bytes)) {
      message.skip();
      continue;
    }
    const span = readSpan(message.message());
    if (isIdentified(span)) spans.push(span);
    else refused.spans++;
    if (spans.length < spansPerGroup) continue;
    yield { resource, library, spans };
    spans = [];
  }
  if (spans.length > 0) yield { resource, library, spans };
}

function libraryName(message: WireReader): string {
  let name = '';
  readEach(message, 1, (library) => {
    while (library.next()) {
      if (library.is(1, bytes)) name = library.text();
      else library.skip();
    }
  });
  return name;
}

/** Hands over each message in the field, and steps over all else. */
function readEach(message: WireReader, field: number, read: (inner: WireReader) => void) {
  while (message.next()) {
    if (message.is(field, bytes)) read(message.message());
    else message.skip();
  }
}

const traceBytes = 16;
const spanBytes = 8;
type Words = [number, number];

function readSpan(message: WireReader): Span {
  const span: Span = {
    trace: '',
    id: '',
    parent: '',
    name: '',
    kind: 'unspecified',
    start: 0,
    microseconds: 0,
    isError: false,
    attributes: {},
  };
  let start: Words = [0, 0];
  let end: Words = [0, 0];
  while (message.next()) {
    if (message.is(9, bytes)) readAttribute(message.message(), span.attributes);
    else if (message.is(1, bytes)) span.trace = message.hexadecimal(traceBytes);
    else if (message.is(2, bytes)) span.id = message.hexadecimal(spanBytes);
    else if (message.is(4, bytes)) span.parent = message.hexadecimal(spanBytes);
    else if (message.is(5, bytes)) span.name = message.text();
    else if (message.is(6, varint)) span.kind = spanKindOf(message.varint());
    else if (message.is(7, fixed64)) start = message.fixed64();
    else if (message.is(8, fixed64)) end = message.fixed64();
    else if (message.is(15, bytes)) span.isError = readStatus(message.message()) === errorStatus;
    else message.skip();
  }
  span.start = wholeNumber(start) / 1e6;
  span.microseconds = difference(end, start) / 1000;
  return span;
}

function readStatus(message: WireReader): number {
  let code = 0;
  while (message.next()) {
    if (message.is(3, varint)) code = message.varint();
    else message.skip();
  }
  return code;
}

/** The value of a name that means nothing here is stepped over, but it has to end where it says. */
function readAttribute(message: WireReader, into: Attributes) {
  let name = '';
  let value: WireReader | undefined;
  while (message.next()) {
    if (message.is(1, bytes)) name = message.text();
    else if (message.is(2, bytes)) value = message.message();
    else message.skip();
  }
  if (!value || !isRead(name)) return;
  const read = readValue(value);
  if (read !== undefined) into[name] = read;
}

/** Lists, maps and bytes are no value of anything that is asked for. */
function readValue(message: WireReader): AttributeValue | undefined {
  let value: AttributeValue | undefined;
  while (message.next()) {
    if (message.is(1, bytes)) value = message.text();
    else if (message.is(2, varint)) value = message.varint() !== 0;
    else if (message.is(3, varint)) value = message.varint();
    else if (message.is(4, fixed64)) value = message.double();
    else message.skip();
  }
  return value;
}
