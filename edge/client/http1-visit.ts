/** A visit over HTTP/1.1, or 1.0: replies in turn on one connection, with the framing that the client understands. */
import { STATUS_CODES } from 'node:http';
import type { Outgoing } from './outgoing.ts';
import type { ReadHead } from './request-head.ts';
import type { RequestHead } from './request-parser.ts';
import { Visit, type ReplyBody, type VisitConnection } from './visit.ts';

export interface Http1Connection extends VisitConnection {
  readonly out: Outgoing;
  /** Whether another request may follow this one. */
  readonly staysOpen: boolean;
}

export class Http1Visit extends Visit {
  readonly #connection: Http1Connection;
  readonly #bytesBefore: number;
  #isChunkedReply = false;

  constructor(connection: Http1Connection, request: RequestHead, head: ReadHead, upgrade: string | undefined) {
    super(connection, request, head, upgrade);
    this.#connection = connection;
    this.#bytesBefore = connection.out.bytes;
  }

  protected override get bytesOut() {
    return this.#connection.out.bytes - this.#bytesBefore;
  }

  override inform(status: number, lines: string) {
    if (this.minor === 1 && this.status === 0)
      this.#connection.out.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`);
  }

  protected override writeHead(status: number, reason: string, lines: string, body: ReplyBody): void {
    // The rest of a body that nobody reads would be taken for the next request, and the parser reads no request after one for another protocol.
    if (!this.body.isWhole || !this.#connection.staysOpen || this.upgrade !== undefined) this.keepAlive = false;
    const framing = this.#frame(body);
    const connection = this.keepAlive ? (this.minor === 1 ? '' : 'Connection: keep-alive\r\n') : 'Connection: close\r\n';
    this.#connection.out.write(`HTTP/1.1 ${status} ${reason}\r\n${lines}${framing}${connection}\r\n`);
  }

  protected override writeTunnelHead(lines: string) {
    this.#connection.out.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`);
  }

  #frame(body: ReplyBody): string {
    if (body.kind === 'length') return `Content-Length: ${body.length}\r\n`;
    if (body.kind === 'none') return body.length === undefined ? '' : `Content-Length: ${body.length}\r\n`;
    if (this.minor === 1) {
      this.#isChunkedReply = true;
      return 'Transfer-Encoding: chunked\r\n';
    }
    this.keepAlive = false;
    return '';
  }

  override write(piece: Buffer | string, lent?: Buffer): boolean {
    const { out } = this.#connection;
    if (this.#isChunkedReply) out.write(`${piece.length.toString(16)}\r\n`);
    const hasRoom = lent && typeof piece !== 'string' ? out.writeLent(piece, lent) : out.write(piece);
    return this.#isChunkedReply ? out.write('\r\n') : hasRoom;
  }

  protected override writeEnd(trailers: string) {
    if (this.#isChunkedReply) this.#connection.out.write(`0\r\n${trailers}\r\n`);
  }
}
