/** A visit over HTTP/2: a stream of its own within the client's connection, whose end no other reply waits for. */
import type { StreamWriting } from './stream-writing.ts';
import type { ReadHead } from '../request-head.ts';
import type { RequestHead } from '../request-parser.ts';
import { Visit, type ReplyBody, type VisitConnection } from '../visit.ts';

export class Http2Visit extends Visit {
  readonly #writing: StreamWriting;
  #bytesOut = 0;

  constructor(connection: VisitConnection, writing: StreamWriting, request: RequestHead, head: ReadHead, upgrade: string | undefined) {
    super(connection, request, head, upgrade);
    this.#writing = writing;
  }

  protected override get bytesOut() {
    return this.#bytesOut;
  }

  override inform(status: number, lines: string) {
    if (this.status === 0) this.#writing.head(status, lines, false);
  }

  protected override writeHead(status: number, _reason: string, lines: string, body: ReplyBody): void {
    const length = body.kind !== 'stream' && body.length !== undefined ? `Content-Length: ${body.length}\r\n` : '';
    this.#bytesOut += lines.length;
    this.#writing.head(status, lines + length, body.kind === 'none');
  }

  /** A change of protocol is a stream that stays open (RFC 8441); the headers by which HTTP/1.1 changes protocols are left out. */
  protected override writeTunnelHead(lines: string) {
    this.#writing.head(200, lines, false);
  }

  override write(piece: Buffer | string, lent?: Buffer): boolean {
    this.#bytesOut += piece.length;
    return this.#writing.write(piece, lent);
  }

  protected override writeEnd(trailers: string) {
    this.#writing.end(trailers);
  }
}
