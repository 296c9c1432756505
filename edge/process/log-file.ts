/**
 * What the edge has to say goes to standard error, which is a file opened to append, by whoever started it. All processes share it, so it cannot be
 * renamed when it is full: it is copied and cut.
 */
import { copyFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const fileBytesMax = 5_000_000;
const checkSeconds = 30;

export function boundLog(folder: string) {
  const file = join(folder, 'edge.log');
  const cut = () => {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= fileBytesMax) return;
    copyFileSync(file, `${file}.1`);
    truncateSync(file);
  };
  setInterval(() => {
    try {
      cut();
    } catch {
      // A full disk must not end the edge through its log.
    }
  }, checkSeconds * 1000).unref();
}
