/** How far the build of a layer is, for whoever waits for it, in this process or in another: a small file beside its lock. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Say } from './build-command.ts';

export interface LayerReport {
  say: Say;
  /** How far it is, from 0 to 1. */
  progress: (part: number) => void;
}

const everyMilliseconds = 250;
const fileOf = (folder: string, hash: string) => join(folder, 'locks', `${hash}.progress`);

/** A report that also writes down what it is told, for those who wait. Only for the process that holds the lock. */
export function writtenReport(folder: string, hash: string, { say, progress }: LayerReport): LayerReport {
  let [part, writtenAt] = [0, 0];
  return {
    say: (line) => {
      say(line);
      if (Date.now() - writtenAt < everyMilliseconds) return;
      writtenAt = Date.now();
      writeFileSync(fileOf(folder, hash), `${part} ${line}`);
    },
    progress: (now) => progress((part = now)),
  };
}

/** Reports what is written down from now on, until the returned function is called. For a process that waits for the lock. */
export function followReport(folder: string, hash: string, { say, progress }: LayerReport): () => void {
  let last = read(fileOf(folder, hash));
  const timer = setInterval(() => {
    const now = read(fileOf(folder, hash));
    const [, part, line] = /^([\d.]+) (.*)$/s.exec(now) ?? [];
    if (now === last || part === undefined || line === undefined) return;
    last = now;
    progress(Number(part));
    say(line);
  }, everyMilliseconds);
  return () => clearInterval(timer);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
