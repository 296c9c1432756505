/**
 * Lines that wait to be written to a file. A text that grows line by line is, in memory, a tree of all the pieces it was ever made of, several times
 * its length, which the garbage collector walks again and again; so it becomes bytes part by part.
 */
const partCharacters = 64 * 1024;

export class WaitingLines {
  count = 0;
  characters = 0;
  #parts: Buffer[] = [];
  #text = '';

  /** Latin-1, each with its end. */
  add(line: string) {
    this.count++;
    this.characters += line.length;
    this.#text += line;
    if (this.#text.length >= partCharacters) this.#endPart();
  }

  /** Adds lines that came later behind these. */
  addAll(later: WaitingLines) {
    this.count += later.count;
    this.characters += later.characters;
    this.#endPart();
    this.#parts.push(later.bytes());
  }

  bytes(): Buffer {
    this.#endPart();
    return Buffer.concat(this.#parts);
  }

  #endPart() {
    if (this.#text === '') return;
    this.#parts.push(Buffer.from(this.#text, 'latin1'));
    this.#text = '';
  }
}
