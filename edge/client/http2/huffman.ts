/**
 * The compression of text in HPACK (RFC 7541, appendix B). Its code is a canonical one: the lengths of the codes tell the codes. Text is read half a byte at a
 * time, by a table of what each half byte means at each place within a code.
 */

/** In bits: of the codes of each byte, and of the mark for the end, which no text may hold. */
const codeLengths = [
  '13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28',
  '6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10',
  '13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6',
  '15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28',
  '20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24',
  '22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23',
  '26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27',
  '20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26',
  '30',
].flatMap((row) => row.split(' ').map(Number));
const endMark = 256;

/** Places within codes; each has a place, or a symbol, for either bit that can follow. */
interface Place {
  number: number;
  /** Whether the bits up to here are few and all 1: then the text may end here. */
  mayEnd: boolean;
  next: [Place | number | undefined, Place | number | undefined];
}

const paddingBitsMax = 7;

function placesOfCodes(): Place[] {
  const start: Place = { number: 0, mayEnd: true, next: [undefined, undefined] };
  const places = [start];
  const symbols = codeLengths.map((length, symbol) => ({ length, symbol })).toSorted((a, b) => a.length - b.length || a.symbol - b.symbol);
  let [code, lengthBefore] = [0, 0];
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - lengthBefore);
    lengthBefore = length;
    let place = start;
    for (let depth = 1; depth < length; depth++) {
      const bit = (code >>> (length - depth)) & 1;
      let next = place.next[bit];
      if (typeof next !== 'object') {
        next = { number: places.length, mayEnd: place.mayEnd && bit === 1 && depth <= paddingBitsMax, next: [undefined, undefined] };
        places.push(next);
        place.next[bit] = next;
      }
      place = next;
    }
    place.next[code & 1] = symbol;
    code++;
  }
  return places;
}

const [halfBytes, noSymbol, failed] = [16, 0x1ff, 0xffff];
const places = placesOfCodes();
/** By place and half byte: the next place in the lower bits, and above them the symbol that is complete, if any. */
const steps = new Uint32Array(places.length * halfBytes);
for (const place of places) for (let half = 0; half < halfBytes; half++) steps[place.number * halfBytes + half] = stepFrom(place, half);
const mayEndAt = places.map(({ mayEnd }) => mayEnd);

function stepFrom(from: Place, half: number): number {
  let place = from;
  let symbol = noSymbol;
  for (let shift = 3; shift >= 0; shift--) {
    const next = place.next[(half >>> shift) & 1];
    if (next === undefined || next === endMark) return failed;
    if (typeof next === 'number') symbol = next;
    place = typeof next === 'number' ? (places[0] ?? place) : next;
  }
  return (symbol << 16) | place.number;
}

/** Writes the text of the coded bytes to `into`, from its beginning. Answers how long it is, or -1 where it is not right or longer than there is room. */
export function readHuffman(bytes: Uint8Array, from: number, to: number, into: Uint8Array): number {
  let [place, length] = [0, 0];
  for (let index = from; index < to; index++) {
    const byte = bytes[index] ?? 0;
    for (let half = byte >>> 4, isFirst = true; ; half = byte & 15, isFirst = false) {
      const step = steps[place * halfBytes + half] ?? failed;
      if (step === failed) return -1;
      place = step & 0xffff;
      const symbol = step >>> 16;
      if (symbol !== noSymbol) {
        if (length === into.length) return -1;
        into[length++] = symbol;
      }
      if (!isFirst) break;
    }
  }
  return mayEndAt[place] ? length : -1;
}
