/**
 * Appends to logs that only this process writes to. One that is full is put aside first, so that no line is torn or lost. Beside each stands when
 * its lines were written, to the second: programs do not say so themselves.
 */
import { constants } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { logBytesMax, rotateLog, timesOf } from '../../../edge/logs/rotate-log.ts';
import { oneAtATime } from '../../kernel/limits.ts';

/** A line was written at most so long after the time that is noted before it. */
export const timesMilliseconds = 1000;

const appending = oneAtATime();
/** For logs that this process has written to: the last time that was noted. */
const timed = new Map<string, number>();
const timedMax = 10_000;

const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** `before` is told how long the log is right before the text is added, with nobody else adding in between. */
export function appendLog(log: string, text: string | Buffer, before?: (bytes: number) => void): Promise<void> {
  return appending.run(log, async () => {
    const file = await open(log, flags, 0o644);
    try {
      let { size } = await file.stat();
      if (size > 0 && size + Buffer.byteLength(text) > logBytesMax) {
        await rotateLog(log);
        size = 0;
      }
      if (size === 0) await file.chmod(0o644);
      await noteTime(log, size);
      before?.(size);
      await file.appendFile(text);
    } finally {
      await file.close();
    }
  });
}

async function noteTime(log: string, bytes: number) {
  const now = Date.now();
  const last = timed.get(log);
  if (bytes > 0 && last !== undefined && now >= last && now - last < timesMilliseconds) return;
  if (timed.size >= timedMax) timed.clear();
  timed.set(log, now);
  await appendFile(timesOf(log), `${bytes} ${now}\n`, { mode: 0o644 });
}
