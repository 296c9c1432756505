/** A request to a script: what the program is told of it, as other servers tell it, and a body whose length is known beforehand. */
import { forwardingHeaders, type RequestWriter } from './request-writer.ts';
import { Delivery, type Order } from './delivery.ts';
import { encodeBody, encodeRequest, endOfBody, FastcgiReplyReader } from './fastcgi.ts';
import { headerName, isPassedOn, isPlainConnection, namedByConnection } from '../client/header-names.ts';
import type { ReplySink } from './reply-reader.ts';
import type { Visit } from '../client/visit.ts';

export interface Script {
  /** SCRIPT_FILENAME, in the container. */
  script: string;
  scriptName: string;
  /** DOCUMENT_ROOT, in the container. */
  root: string;
  pathInfo: string;
  query?: string;
}

/** Programs of FastCGI must be told the length first, so a body without one is collected; larger ones must come with their length. */
const collectedBytesMax = 8 * 1024 * 1024;

export function startScript(visit: Visit, order: Order, script: Script, onStderr: (text: string) => void) {
  const { isChunked, length } = visit.body;
  if (!isChunked) return startWith(visit, order, script, onStderr, length ?? 0, undefined);
  const chunks: Buffer[] = [];
  let bytes = 0;
  visit.attendant = { onAbort: () => order.store?.abort() };
  if (visit.head.expectsContinue) visit.inform(100, '');
  visit.body.flowTo({
    onBody(chunk) {
      bytes += chunk.length;
      if (bytes > Math.min(collectedBytesMax, order.bodyBytesMax)) {
        if (visit.status === 0) order.onFailure('too-large', 'a body without a length', false);
      } else chunks.push(chunk);
      return true;
    },
    onBodyEnd() {
      if (visit.status === 0) startWith(visit, order, script, onStderr, bytes, chunks);
    },
  });
  visit.connection.mindReading();
}

function startWith(
  visit: Visit,
  order: Order,
  script: Script,
  onStderr: (text: string) => void,
  length: number,
  collected: Buffer[] | undefined,
) {
  const openWriter = (sink: ReplySink) =>
    fastcgiRequestWriter(visit, script, { length, collected }, sink, order.limits.replyHeadBytesMax, onStderr);
  new Delivery(visit, { ...order, openWriter }, collected !== undefined).start();
}

function fastcgiRequestWriter(
  visit: Visit,
  script: Script,
  { length, collected }: { length: number; collected: Buffer[] | undefined },
  sink: ReplySink,
  headBytesMax: number,
  onStderr: (text: string) => void,
): RequestWriter {
  return {
    start(out) {
      out.write(encodeRequest(paramsOf(visit, script, length)));
      for (const chunk of collected ?? []) for (const piece of encodeBody(chunk)) out.write(piece);
      if (collected || length === 0) out.write(endOfBody);
    },
    body(out, chunk) {
      let hasRoom = true;
      for (const piece of encodeBody(chunk)) hasRoom = out.write(piece);
      return hasRoom;
    },
    end: (out) => void out.write(endOfBody),
    reader: new FastcgiReplyReader(sink, visit.method === 'HEAD', headBytesMax, onStderr),
  };
}

function paramsOf(visit: Visit, { script, scriptName, root, pathInfo, query }: Script, length: number): [name: string, value: string][] {
  const { socket } = visit.connection;
  const port = /:(\d+)$/.exec(visit.authority)?.[1] ?? (visit.scheme === 'https' ? '443' : '80');
  const asked = visit.query === '' ? '' : `?${visit.query}`;
  return [
    ['GATEWAY_INTERFACE', 'CGI/1.1'],
    ['SERVER_SOFTWARE', 'offshoot'],
    ['SERVER_PROTOCOL', `HTTP/1.${visit.minor}`],
    ['REQUEST_METHOD', visit.method],
    ['REQUEST_SCHEME', visit.scheme],
    ['REQUEST_URI', visit.path + asked],
    ['QUERY_STRING', query ?? visit.query],
    ['CONTENT_TYPE', visit.headers['content-type'] ?? ''],
    ['CONTENT_LENGTH', visit.body.isExpected ? String(length) : ''],
    ['DOCUMENT_ROOT', root],
    ['DOCUMENT_URI', scriptName + pathInfo],
    ['SCRIPT_FILENAME', script],
    ['SCRIPT_NAME', scriptName],
    ['PATH_INFO', pathInfo],
    ...(pathInfo === '' ? [] : [['PATH_TRANSLATED', root + pathInfo] satisfies [string, string]]),
    ['REMOTE_ADDR', visit.address],
    ['REMOTE_PORT', String(socket.remotePort ?? '')],
    ['SERVER_ADDR', socket.localAddress ?? ''],
    ['SERVER_PORT', port],
    ['SERVER_NAME', visit.host],
    // PHP built for CGI refuses to run without it.
    ['REDIRECT_STATUS', '200'],
    ...(visit.scheme === 'https' ? [['HTTPS', 'on'] satisfies [string, string]] : []),
    ['HTTP_HOST', visit.authority],
    ...headerParams(visit),
    ...forwardingHeaders(visit).map(([name, value]): [string, string] => [`HTTP_${name}`, value]),
  ];
}

/** Only what would go on to an application of HTTP: no HTTP_PROXY, and nothing that the client says in the edge's name. */
function headerParams({ headers }: Visit): [name: string, value: string][] {
  const connection = headers.connection ?? '';
  const dropped = isPlainConnection(connection) ? undefined : namedByConnection(connection);
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || !isPassedOn(headerName(name).inRequest) || dropped?.has(name) || name === 'content-type') return [];
    return [[`HTTP_${name.replaceAll(/[^a-z0-9]/g, '_').toUpperCase()}`, value]];
  });
}
