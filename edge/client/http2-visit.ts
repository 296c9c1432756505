/** A visit over HTTP/2: a stream of its own within the client's connection, whose end no other reply waits for. */
import type { ServerHttp2Stream } from 'node:http2';
import { giveBack } from './buffers.ts';
import { headerName } from './header-names.ts';
import type { ReadHead } from './request-head.ts';
import type { RequestHead } from './request-parser.ts';
import { Visit, type ReplyBody, type VisitConnection } from './visit.ts';

export class Http2Visit extends Visit {
  readonly #stream: ServerHttp2Stream;
  #bytesOut = 0;
  #trailers = '';

  constructor(connection: VisitConnection, stream: ServerHttp2Stream, request: RequestHead, head: ReadHead, upgrade: string | undefined) {
    super(connection, request, head, upgrade);
    this.#stream = stream;
  }

  protected override get bytesOut() {
    return this.#bytesOut;
  }

  override inform(status: number, lines: string) {
    if (this.status === 0 && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': status, ...byName(headerList(lines)) });
  }

  protected override writeHead(status: number, _reason: string, lines: string, body: ReplyBody): void {
    if (this.#stream.closed) return;
    const headers = [':status', String(status), ...headerList(lines)];
    if (body.kind !== 'stream' && body.length !== undefined) headers.push('content-length', String(body.length));
    this.#bytesOut += lines.length;
    // Trailers are possible only after a reply of unknown length.
    if (body.kind === 'stream') this.#stream.once('wantTrailers', () => this.#sendTrailers());
    this.#stream.respond(headers, { endStream: body.kind === 'none', waitForTrailers: body.kind === 'stream' });
  }

  /** A change of protocol is a stream that stays open (RFC 8441); the headers by which HTTP/1.1 changes protocols are left out. */
  protected override writeTunnelHead(lines: string) {
    if (!this.#stream.closed) this.#stream.respond([':status', '200', ...headerList(lines)]);
  }

  override write(piece: Buffer | string, lent?: Buffer): boolean {
    this.#bytesOut += piece.length;
    if (this.#stream.destroyed || this.#stream.writableEnded) return true;
    if (typeof piece === 'string') return this.#stream.write(piece, 'latin1');
    return this.#stream.write(piece, (error) => {
      if (lent && !error) giveBack(lent);
    });
  }

  protected override writeEnd(trailers: string) {
    this.#trailers = trailers;
    if (!this.#stream.writableEnded) this.#stream.end();
  }

  #sendTrailers() {
    if (this.#stream.destroyed) return;
    this.#stream.sendTrailers(byName(headerList(this.#trailers)));
  }
}

const notInHttp2 = new Set(['connection', 'upgrade', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'sec-websocket-accept']);

/** Turns lines of headers into a list of name, value, name, value. */
function headerList(lines: string): string[] {
  const headers: string[] = [];
  for (let start = 0, end = lines.indexOf('\r\n'); end !== -1; start = end + 2, end = lines.indexOf('\r\n', start)) {
    const colon = lines.indexOf(':', start);
    const { lower } = headerName(lines.slice(start, colon));
    if (lower !== '' && !notInHttp2.has(lower)) headers.push(lower, lines.slice(colon + 1, end).trim());
  }
  return headers;
}

function byName(headers: readonly string[]): Record<string, string[]> {
  const named: Record<string, string[]> = Object.create(null);
  for (let index = 0; index < headers.length; index += 2) (named[headers[index] ?? ''] ??= []).push(headers[index + 1] ?? '');
  return named;
}
