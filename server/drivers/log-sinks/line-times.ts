/** When the lines of a log were written, as the file beside it tells. That file is read on from where it was, so that a log that is read little by little is not paid for again and again. */
import { open } from 'node:fs/promises';
import { timesOf } from '../../../edge/logs/rotate-log.ts';
import { timesIn } from '../logs/read-log.ts';

interface TimeEntry {
  bytes: number;
  time: number;
}

export class LineTimes {
  /** Which part of the log is known. */
  #start = -1;
  #readBytes = 0;
  #entries: TimeEntry[] = [];

  /** For the part that begins at `start`, from this byte of it on. */
  async load(part: { path: string; start: number }, from: number): Promise<void> {
    if (part.start !== this.#start) [this.#start, this.#readBytes, this.#entries] = [part.start, 0, []];
    const text = await this.#readOn(timesOf(part.path));
    const entries = [...this.#entries, ...timesIn(text)];
    const first = entries.findLastIndex(({ bytes }) => bytes <= from);
    this.#entries = entries.slice(Math.max(0, first));
  }

  /** Undefined where nobody noted it. */
  at(byte: number): number | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.bytes ?? 0) <= byte) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low - 1]?.time;
  }

  /** Whole entries only: the last one may just be being written. */
  async #readOn(file: string): Promise<string> {
    const handle = await open(file).catch(() => undefined);
    if (!handle) return '';
    try {
      const { size } = await handle.stat();
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.max(0, size - this.#readBytes)), 0, undefined, this.#readBytes);
      const whole = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
      this.#readBytes += whole;
      return buffer.toString('latin1', 0, whole);
    } finally {
      await handle.close();
    }
  }
}
