/**
 * A log as it grows. It is sent from its beginning each time, so after a broken connection the same lines come again, and are known by their ids. Lines are
 * handed on a few times a second, however quickly they come.
 */
import { useEffect, useState } from 'react';
import { open } from '../api/request.ts';
import { SignedOut } from '../session/session.ts';
import type { LogLine } from './steps.ts';

const againMilliseconds = 2000;
const showMilliseconds = 150;

export interface FollowedLog {
  lines: readonly LogLine[];
  /** Whether there will be no more. */
  isSealed: boolean;
  /** Since when nothing can be heard of it. */
  brokenSince: number | undefined;
}

const nothing: FollowedLog = { lines: [], isSealed: false, brokenSince: undefined };

/** Of one activity: whoever shows another one is another component. */
export function useLog(href: string | undefined): FollowedLog {
  const [log, setLog] = useState(nothing);
  useEffect(() => {
    if (href === undefined) return undefined;
    const gone = new AbortController();
    void follow(href, gone.signal, setLog);
    return () => gone.abort();
  }, [href]);
  return log;
}

async function follow(href: string, gone: AbortSignal, show: (log: FollowedLog) => void) {
  const lines: LogLine[] = [];
  const known = new Set<string>();
  let [isSealed, brokenSince]: [boolean, number | undefined] = [false, undefined];
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const showNow = () => {
    waiting = undefined;
    if (!gone.aborted) show({ lines: [...lines], isSealed, brokenSince });
  };
  while (!gone.aborted && !isSealed) {
    try {
      for await (const entry of entriesOf(href, gone)) {
        brokenSince = undefined;
        isSealed ||= entry.seal === true;
        for (const line of linesOf(entry, known)) lines.push({ ...line, number: lines.length + 1 });
        waiting ??= setTimeout(showNow, showMilliseconds);
      }
    } catch (error) {
      if (gone.aborted || error instanceof SignedOut) return;
      brokenSince ??= Date.now();
    }
    clearTimeout(waiting);
    showNow();
    if (!isSealed) await new Promise((settle) => setTimeout(settle, againMilliseconds));
  }
}

interface Entry {
  _id?: string;
  data?: { timestamp: string; message: string };
  seal?: boolean;
}

async function* entriesOf(href: string, gone: AbortSignal): AsyncGenerator<Entry> {
  const { body } = await open('GET', href, undefined, gone);
  if (!body) return;
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (rest + read.value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part !== '') yield JSON.parse(part) as Entry;
  }
}

function linesOf({ _id: id, data }: Entry, known: Set<string>): Omit<LogLine, 'number'>[] {
  if (id === undefined || data === undefined || known.has(id)) return [];
  known.add(id);
  return data.message
    .replace(/\n$/, '')
    .split('\n')
    .map((text, n) => ({ id: `${id}-${n}`, at: data.timestamp, text }));
}
