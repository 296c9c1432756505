/**
 * Finds directives, `<!--#… -->`, in a page that comes in pieces. No more of the page is kept than a directive may be long: text goes on as it comes, and
 * the rest of a directive that is too long is passed over.
 */

export type Token =
  | { kind: 'text'; bytes: Buffer }
  /** As it was written, in Latin-1: a character for each byte. */
  | { kind: 'directive'; source: string }
  | { kind: 'unreadable' };

export const directiveStart = '<!--#';
export const directiveEnd = '-->';
const opening = Buffer.from(directiveStart);
const directiveBytesMax = 8 * 1024;
/** What a piece takes besides its bytes, so that many that are tiny do not count for nothing. */
const pieceBytes = 64;
const [dash, greater, doubleQuote, singleQuote, backslash] = Buffer.from(`->"'\\`);
const unreadable: Token = { kind: 'unreadable' };

export class DirectiveScanner {
  readonly #pieces: Buffer[] = [];
  /** The memory that pieces take which are not read yet. */
  waitingBytes = 0;
  /** What of a directive has been read. */
  #directive: string | undefined;
  /** Inside of a directive that is too long. */
  #isSkipping = false;
  #quote = 0;
  #isEscaped = false;
  #dashes = 0;

  push(bytes: Buffer) {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.waitingBytes += bytes.length + pieceBytes;
  }

  /** Has these bytes read before all that wait. */
  putBack(bytes: Buffer) {
    if (bytes.length === 0) return;
    this.#pieces.unshift(bytes);
    this.waitingBytes += bytes.length + pieceBytes;
  }

  /** Undefined: more has to come first. */
  next(): Token | undefined {
    for (let piece = this.#take(); piece; piece = this.#take()) {
      const token = this.#isSkipping ? this.#skip(piece) : this.#directive === undefined ? this.#text(piece) : this.#more(piece);
      if (token === 'starved') return undefined;
      if (token) return token;
    }
    return undefined;
  }

  /** What is left when no more comes: the beginning of what was no directive, or one without an end. */
  last(): Token | undefined {
    const bytes = this.#take();
    if (bytes) return { kind: 'text', bytes };
    return this.#directive === undefined ? undefined : unreadable;
  }

  #take(): Buffer | undefined {
    const piece = this.#pieces.shift();
    if (piece) this.waitingBytes -= piece.length + pieceBytes;
    return piece;
  }

  #text(piece: Buffer): Token | 'starved' | undefined {
    const found = piece.indexOf(opening);
    if (found === 0) {
      [this.#directive, this.#quote, this.#isEscaped, this.#dashes] = ['', 0, false, 0];
      this.putBack(piece.subarray(opening.length));
      return undefined;
    }
    const end = found === -1 ? piece.length - begunBytes(piece) : found;
    const rest = piece.subarray(end);
    if (end > 0) {
      this.putBack(rest);
      return { kind: 'text', bytes: piece.subarray(0, end) };
    }
    const following = this.#take();
    this.putBack(following ? Buffer.concat([rest, following]) : rest);
    return following ? undefined : 'starved';
  }

  #more(piece: Buffer): Token | undefined {
    const end = this.#endIn(piece, true);
    this.#directive += piece.toString('latin1', 0, end ?? piece.length);
    const source = this.#directive ?? '';
    if (source.length > directiveBytesMax) {
      this.#directive = undefined;
      this.#isSkipping = end === undefined;
      if (end !== undefined) this.putBack(piece.subarray(end));
      return unreadable;
    }
    if (end === undefined) return undefined;
    this.#directive = undefined;
    this.putBack(piece.subarray(end));
    return { kind: 'directive', source: source.slice(0, -directiveEnd.length) };
  }

  #skip(piece: Buffer): undefined {
    const end = this.#endIn(piece, false);
    if (end === undefined) return;
    this.#isSkipping = false;
    this.putBack(piece.subarray(end));
  }

  /** Where the directive has ended. What looks like its end inside of quotes is part of a value. */
  #endIn(piece: Buffer, mindsQuotes: boolean): number | undefined {
    for (let index = 0; index < piece.length; index++) {
      const byte = piece[index] ?? 0;
      if (mindsQuotes && this.#quote !== 0) this.#readQuoted(byte);
      else if (byte === dash) this.#dashes++;
      else if (byte === greater && this.#dashes >= 2) return index + 1;
      else {
        this.#dashes = 0;
        if (byte === doubleQuote || byte === singleQuote) this.#quote = byte;
      }
    }
    return undefined;
  }

  #readQuoted(byte: number) {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === this.#quote) this.#quote = 0;
  }
}

/** How many bytes at the end may be the beginning of a directive. */
function begunBytes(piece: Buffer): number {
  for (let bytes = Math.min(opening.length - 1, piece.length); bytes > 0; bytes--) {
    if (piece.subarray(piece.length - bytes).equals(opening.subarray(0, bytes))) return bytes;
  }
  return 0;
}
