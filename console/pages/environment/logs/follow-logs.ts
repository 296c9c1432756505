/** Several logs at once, as they grow: the last lines of each, then what comes, in the order in which it comes. Only so many lines are kept. */
import { useEffect, useState } from 'react';
import { hrefOf } from '../../../api/link.ts';
import type { Log } from '../../../api/log-queries.ts';
import { open } from '../../../api/request.ts';
import { SignedOut } from '../../../session/session.ts';

const tailLines = 200;
const keptLinesMax = 5000;
const againMilliseconds = 2000;
const showMilliseconds = 200;

export interface TakenLine {
  key: number;
  log: string;
  text: string;
}

export function useLogs(logs: readonly Log[], isFollowing: boolean): readonly TakenLine[] {
  const [lines, setLines] = useState<readonly TakenLine[]>([]);
  const wanted = logs.map((log) => hrefOf(log, 'self') ?? '').join('\n');
  useEffect(() => {
    const gone = new AbortController();
    const taken = new KeptLines((kept) => !gone.signal.aborted && setLines(kept));
    for (const href of wanted.split('\n').filter((each) => each !== '')) void follow(href, isFollowing, gone.signal, taken);
    return () => gone.abort();
  }, [wanted, isFollowing]);
  return lines;
}

/** Lines are handed on a few times a second, however quickly they come. */
class KeptLines {
  private lines: TakenLine[] = [];
  private taken = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private readonly show: (lines: readonly TakenLine[]) => void;

  constructor(show: (lines: readonly TakenLine[]) => void) {
    this.show = show;
  }

  add(log: string, text: string) {
    this.lines.push({ key: (this.taken += 1), log, text });
    if (this.lines.length > 2 * keptLinesMax) this.lines = this.lines.slice(-keptLinesMax);
    this.waiting ??= setTimeout(() => {
      this.waiting = undefined;
      this.show(this.lines.slice(-keptLinesMax));
    }, showMilliseconds);
  }
}

async function follow(href: string, isFollowing: boolean, gone: AbortSignal, taken: KeptLines) {
  const log = href.split('/').slice(-2).map(decodeURIComponent).join('/');
  // After a broken connection only what is new is asked for.
  for (let tail = tailLines; !gone.aborted; tail = 0) {
    try {
      const { body } = await open('GET', `${href}?tail=${tail}${isFollowing ? '&follow=true' : ''}`, undefined, gone);
      if (body) await takeLines(body, (line) => taken.add(log, line));
    } catch (error) {
      if (gone.aborted || error instanceof SignedOut) return;
    }
    if (!isFollowing) return;
    await new Promise((settle) => setTimeout(settle, againMilliseconds));
  }
}

async function takeLines(body: ReadableStream<Uint8Array<ArrayBuffer>>, take: (line: string) => void) {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (rest + read.value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) take(part);
  }
  if (rest !== '') take(rest);
}
