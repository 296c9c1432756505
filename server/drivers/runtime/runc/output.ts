/**
 * What containers say, added to the log that their description names, as they said it: without what monitors write before each line. A container that
 * is gone has had all it said added. The copying goes on where it ended, also after a kill of this process, without a line twice. While nobody copies,
 * what is said waits in the monitor's own file; of what does not fit there the oldest is lost, and that is said.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { appendLog } from '../../logs/append-log.ts';
import { keepLooking, type Looking } from '../../logs/keep-looking.ts';
import { type Description, readDescription } from './description.ts';
import { type RuntimeFolders, durableOf, entriesOf, readText, writeWhole } from './runtime-folders.ts';

export interface Outputs {
  /** Does nothing where it has begun, or where the description names no log. */
  begin(description: Pick<Description, 'name' | 'output'>): void;
  /** Settles when all is added that the container's monitor, which must have ended, has written down. */
  end(name: string): Promise<void>;
  close(): Promise<void>;
}

const partBytesMax = 1024 * 1024;
const partsPerLookMax = 32;
/** For one container, as its monitor writes it. One that says more would keep this process busy, and leave nothing in the log but the last moment. */
const saidBytesPerSecondMax = 2 ** 20;
const saidAtOnceBytesMax = 8 * 2 ** 20;
const skippedTailBytes = 64 * 1024;

/** Goes on with containers that were there before, too. */
export function openOutputs(folders: RuntimeFolders): Outputs {
  const copies = new Map<string, Copy>();
  const begin: Outputs['begin'] = ({ name, output }) => {
    if (output !== undefined && !copies.has(name)) copies.set(name, new Copy(durableOf(folders, name), output));
  };
  // All are opened before any goes on: how far each had come is told by the length of the log, and several may add to the same log.
  for (const name of entriesOf(folders.containers)) {
    const description = readDescription(folders, name);
    if (description) begin(description);
  }
  return {
    begin,
    async end(name) {
      const copy = copies.get(name);
      copies.delete(name);
      await copy?.end();
    },
    async close() {
      await Promise.all([...copies.values()].map((copy) => copy.close()));
      copies.clear();
    },
  };
}

/** An open file of the monitor's, and how far it was copied. */
interface Source {
  file: number;
  mark: string;
  position: number;
}

class Copy {
  readonly #folder: string;
  readonly #output: string;
  readonly #mayTake = allowance();
  readonly #looking: Looking;
  #source: Source | undefined;
  #isLost: boolean;

  constructor(folder: string, output: string) {
    this.#folder = folder;
    this.#output = output;
    const { source, isLost } = resumed(folder, output);
    this.#source = source;
    this.#isLost = isLost;
    this.#looking = keepLooking(folder, () => this.#look());
  }

  async end() {
    await this.#looking.close();
    let isMore = true;
    while (isMore) isMore = await this.#look();
    await this.close();
  }

  async close() {
    await this.#looking.close();
    if (this.#source) closeSync(this.#source.file);
    this.#source = undefined;
  }

  /** A log that cannot be added to now, because the disk is full, can be later; one whose folder is gone never will. */
  async #look(): Promise<boolean> {
    try {
      let count = 0;
      while (count < partsPerLookMax && (await this.#copyPart())) count++;
      return count > 0;
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (isGone && this.#source) this.#source.position = fstatSync(this.#source.file).size;
      return false;
    }
  }

  /** Answers whether there was a part to copy. */
  async #copyPart(): Promise<boolean> {
    const source = (this.#source ??= openSource(monitorLog(this.#folder), 0));
    if (!source) return false;
    if (this.#isLost) await this.#add(source, note('Lines are missing here: they were said while nobody kept them.'), 0);
    this.#isLost = false;
    const part = nextPart(source);
    if (part.length === 0) return this.#turnToNext(source);
    if (this.#mayTake(part.length)) await this.#add(source, saidIn(part), source.position + part.length);
    else await this.#add(source, note('Lines are left out here: too much was said at once.'), endOfLines(source));
    return true;
  }

  async #add(source: Source, text: Buffer, to: number) {
    const { mark, position } = source;
    if (text.length > 0)
      await appendLog(this.#output, text, (bytes) => keepPosition(this.#folder, { mark, from: position, to, logBytes: bytes }));
    source.position = to;
  }

  /** A monitor opens the next file when it has written its last to this one, which may have been right after we looked. */
  #turnToNext(source: Source): boolean {
    if (!isReplaced(monitorLog(this.#folder), source.mark)) return false;
    if (nextPart(source).length > 0) return true;
    closeSync(source.file);
    this.#source = undefined;
    return true;
  }
}

const monitorLog = (folder: string) => join(folder, 'log');

/** Whole lines. */
function nextPart({ file, position }: Source): Buffer {
  const bytes = read(file, position, Math.min(fstatSync(file).size - position, partBytesMax));
  return bytes.subarray(0, bytes.lastIndexOf(newline) + 1);
}

function endOfLines({ file, position }: Source): number {
  const { size } = fstatSync(file);
  const from = Math.max(position, size - skippedTailBytes);
  return from + read(file, from, size - from).lastIndexOf(newline) + 1;
}

interface Kept {
  mark: string;
  from: number;
  to: number;
  logBytes: number;
}

const positionFile = (folder: string) => join(folder, 'copied');
const keepPosition = (folder: string, { mark, from, to, logBytes }: Kept) =>
  writeWhole(positionFile(folder), `${mark} ${from} ${to} ${logBytes}`);

/** What was about to be added was added if the log is no longer as long as it was then. */
function resumed(folder: string, output: string): { source: Source | undefined; isLost: boolean } {
  const [, mark, from, to, logBytes] = /^(\S+) (\d+) (\d+) (\d+)$/.exec(readText(positionFile(folder)) ?? '') ?? [];
  if (mark === undefined) return { source: undefined, isLost: false };
  const wasAdded = statSync(output, { throwIfNoEntry: false })?.size !== Number(logBytes);
  for (const path of [monitorLog(folder), `${monitorLog(folder)}.1`]) {
    const source = openSource(path, Number(wasAdded ? to : from));
    if (source?.mark === mark) return { source, isLost: false };
    if (source) closeSync(source.file);
  }
  return { source: undefined, isLost: true };
}

function openSource(path: string, position: number): Source | undefined {
  if (!statSync(path, { throwIfNoEntry: false })) return undefined;
  const file = openSync(path, 'r');
  return { file, mark: markOf(fstatSync(file)), position };
}

/** The inode alone is not enough, as inodes are used again. */
const markOf = ({ ino, birthtimeMs }: { ino: number; birthtimeMs: number }) => `${ino}-${birthtimeMs}`;

/** Whether another file has its name now. */
function isReplaced(path: string, mark: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && markOf(found) !== mark;
}

function read(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(Math.max(0, bytes));
  return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, position));
}

const [newline, space, partial] = [10, 32, 80] as const;
const wordsBefore = 3;

/** What was said, from a monitor's whole lines: `<time> stdout F the line`. P instead of F: the program has not ended the line yet. */
export function saidIn(lines: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0, end = lines.indexOf(newline); end >= 0; start = end + 1, end = lines.indexOf(newline, start)) {
    const text = afterWords(lines.subarray(start, end));
    if (text !== undefined) parts.push(lines.subarray(start + text, lines[start + text - 2] === partial ? end : end + 1));
  }
  return Buffer.concat(parts);
}

/** Undefined: the line is not one of a monitor. */
function afterWords(line: Buffer): number | undefined {
  let at = 0;
  for (let words = 0; words < wordsBefore; words++) {
    at = line.indexOf(space, at) + 1;
    if (at === 0) return undefined;
  }
  return at;
}

const note = (sentence: string) => Buffer.from(`[${new Date().toISOString()}] ${sentence}\n`);

function allowance() {
  let [left, last] = [saidAtOnceBytesMax, Date.now()];
  return (bytes: number): boolean => {
    const now = Date.now();
    left = Math.min(saidAtOnceBytesMax, left + (Math.max(0, now - last) / 1000) * saidBytesPerSecondMax);
    last = now;
    if (left < bytes) return false;
    left -= bytes;
    return true;
  };
}
