/** What the edge answers by itself: pages, redirects, files, what the cache kept. */
import { STATUS_CODES } from 'node:http';
import { borrowBuffer, giveBack } from './client/buffers.ts';
import type { EdgeHeaders } from './edge-headers.ts';
import type { FilePart, Reply } from './exchange.ts';
import { headerName } from './client/header-names.ts';
import { unsentBytesMax } from './client/outgoing.ts';
import type { Attendant, Visit } from './client/visit.ts';

const [noContent, notModified] = [204, 304];
const pieceBytes = 64 * 1024;

/** The owner of a site sets headers of files and of cached replies, too; they must neither frame the reply nor speak in the edge's name. */
export function sendReply(visit: Visit, { status, headers, body }: Reply, { lines, dropped }: EdgeHeaders, idleSeconds: number) {
  let head = `Date: ${httpDate()}\r\n`;
  for (const [name, value] of headers) {
    const { lower, inReply } = headerName(name);
    if (inReply === 'end-to-end' && !dropped?.has(lower)) head += `${name}: ${headerSafe(value)}\r\n`;
  }
  head += lines;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const length = bytes === undefined ? 0 : 'file' in bytes ? bytes.bytes : bytes.length;
  const reason = STATUS_CODES[status] ?? '';
  const isBodiless = visit.method === 'HEAD' || status === noContent || status === notModified;
  if (isBodiless)
    visit.begin(status, reason, head, status === noContent || status === notModified ? { kind: 'none' } : { kind: 'none', length });
  else visit.begin(status, reason, head, { kind: 'length', length });
  if (bytes !== undefined && isBodiless) closeFile(bytes);
  else if (bytes !== undefined && ('file' in bytes || length > unsentBytesMax)) return void new BodySender(visit, bytes, idleSeconds).run();
  else if (bytes !== undefined && length > 0) visit.write(bytes);
  visit.end();
}

const closeFile = (body: Buffer | FilePart) => {
  if ('file' in body) void body.file.close();
};

/** A character beyond Latin-1 could end as a line feed on the wire. It is encoded, and so is all else that a header may not hold. */
export const headerSafe = (value: string) => (isHeaderSafe.test(value) ? value : Array.from(value, encodedUnlessSafe).join(''));

const isHeaderSafe = /^[\t\x20-\x7e\x80-\xff]*$/;
const encodedUnlessSafe = (character: string) =>
  isHeaderSafe.test(character)
    ? character
    : Buffer.from(character).reduce((text, byte) => `${text}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, '');

let second = 0;
let date = '';

function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) [second, date] = [now, new Date(now * 1000).toUTCString()];
  return date;
}

/** Sends no more at once than the client has room for, so that a slow reader is seen to make progress. */
class BodySender implements Attendant {
  readonly #visit: Visit;
  readonly #body: Buffer | FilePart;
  readonly #idleMs: number;
  #isAborted = false;
  #deadline = 0;
  #onRoom: (() => void) | undefined;

  constructor(visit: Visit, body: Buffer | FilePart, idleSeconds: number) {
    this.#visit = visit;
    this.#body = body;
    this.#idleMs = idleSeconds * 1000;
    visit.attendant = this;
  }

  async run() {
    try {
      const isWhole = await ('file' in this.#body ? this.#sendFile(this.#body) : this.#sendBytes(this.#body));
      if (this.#isAborted) return;
      if (isWhole) this.#visit.end();
      else this.#visit.breakOff('the file became shorter');
    } catch (error) {
      if (!this.#isAborted) this.#visit.breakOff(`the file: ${error instanceof Error ? error.message : ''}`);
    } finally {
      closeFile(this.#body);
    }
  }

  async #sendBytes(bytes: Buffer): Promise<boolean> {
    for (let sent = 0; sent < bytes.length && !this.#isAborted; sent += pieceBytes) {
      if (!this.#visit.write(bytes.subarray(sent, sent + pieceBytes))) await this.#room();
    }
    return true;
  }

  async #sendFile({ file, start, bytes }: FilePart): Promise<boolean> {
    for (let sent = 0; sent < bytes && !this.#isAborted;) {
      const buffer = borrowBuffer();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - sent), start + sent);
      if (bytesRead === 0 || this.#isAborted) {
        giveBack(buffer);
        return false;
      }
      sent += bytesRead;
      if (!this.#visit.write(buffer.subarray(0, bytesRead), buffer)) await this.#room();
    }
    return true;
  }

  #room() {
    this.#deadline = performance.now() + this.#idleMs;
    return new Promise<void>((resolve) => (this.#onRoom = resolve));
  }

  onClientRoom() {
    this.#deadline = 0;
    this.#onRoom?.();
  }

  onTick(now: number) {
    if (this.#deadline !== 0 && now > this.#deadline) this.#visit.connection.destroy();
  }

  onAbort() {
    this.#isAborted = true;
    this.#onRoom?.();
  }
}
