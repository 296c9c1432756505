/** What a page and all that it includes share: variables and blocks that were set, and how much more they may ask for. */
import type { EdgeLimits } from '../limits.ts';

/** Names and values of variables and blocks, together. */
const keptBytesMax = 64 * 1024;
const entriesMax = 200;
/** Each takes up to some milliseconds, in which nobody else is served. */
const regexpsMax = 20;

type Kind = 'variable' | 'block';

export class PageMemory {
  readonly depthMax: number;
  readonly #kept: Record<Kind, Map<string, string>> = { variable: new Map(), block: new Map() };
  #keptBytes = 0;
  #includes: number;
  #includedBytes: number;
  #regexps = regexpsMax;

  constructor({ includesPerRequestMax, includeDepthMax, includedBytesMax }: EdgeLimits) {
    this.#includes = includesPerRequestMax;
    this.depthMax = includeDepthMax;
    this.#includedBytes = includedBytesMax;
  }

  get(kind: Kind, name: string): string | undefined {
    return this.#kept[kind].get(name);
  }

  /** False: there is no room for it, and it is as it was. */
  keep(kind: Kind, name: string, value: string): boolean {
    const kept = this.#kept[kind];
    const before = kept.get(name);
    const bytes = value.length - (before?.length ?? 0) + (before === undefined ? name.length : 0);
    if (this.#keptBytes + bytes > keptBytesMax || (before === undefined && kept.size >= entriesMax)) return false;
    this.#keptBytes += bytes;
    kept.set(name, value);
    return true;
  }

  /** False: nothing more may be included. */
  takeInclude(): boolean {
    return this.#includes-- > 0;
  }

  takeIncluded(bytes: number): boolean {
    this.#includedBytes -= bytes;
    return this.#includedBytes >= 0;
  }

  /** False: no more regular expressions are tried. */
  takeRegexp(): boolean {
    return this.#regexps-- > 0;
  }

  /** One that takes too long is the last one of a page. */
  spendRegexps() {
    this.#regexps = 0;
  }
}
