/** How the process ends: in order on a signal, with a sentence when it cannot go on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { isJournal, journalLine } from './kernel/journal.ts';

const closeSecondsMax = 25;
/** Some supervisors send a signal both to the process and to its group, so only a signal that comes later counts as impatience. */
const impatientAfterMilliseconds = 1000;

type Close = () => unknown;

let stoppingSince: number | undefined;

/**
 * From now on a signal ends the process in order. What is opened is pushed onto the list with how to close it; the last opened closes first,
 * and none may hold up the others for ever. A second signal, a moment later, ends it at once.
 */
export function stopOnSignal(): Close[] {
  const closings: Close[] = [];
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined && Date.now() - stoppingSince > impatientAfterMilliseconds) process.exit(1);
    if (stoppingSince !== undefined) return;
    stoppingSince = Date.now();
    console.log(`Offshoot is stopping (${signal}).`);
    for (const close of closings.toReversed()) await Promise.race([close(), sleep(closeSecondsMax * 1000)]);
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  return closings;
}

/**
 * For whatever keeps the platform from starting or a command from working: the reason in words, with a stack trace only for a bug. While the process is being
 * stopped, what was still being opened fails because the rest is closed under it, and is not reported.
 */
export function endWithSentence(error: Error) {
  if (stoppingSince !== undefined) return;
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof SyntaxError;
  const words = isBug ? inspect(error) : `offshoot: ${listenSentence(error) ?? error.message}`;
  console.error(isJournal(2) ? journalLine('error', words) : words);
  process.exit(1);
}

const listenSentences: Record<string, string> = {
  EADDRINUSE: 'The port is in use; stop the other program, or set OFFSHOOT_PORT to another port.',
  EACCES: 'This user may not listen on that port; set OFFSHOOT_PORT to one above 1023, or run as root.',
  EADDRNOTAVAIL: 'OFFSHOOT_HOST is not an address of this machine.',
};

const listenSentence = ({ syscall, code = '' }: NodeJS.ErrnoException) => (syscall === 'listen' ? listenSentences[code] : undefined);
