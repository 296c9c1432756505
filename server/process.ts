/** How the process ends: in order on a signal, with a sentence when it cannot go on. */

const drainSecondsMax = 25;

type Closing = () => unknown;

/** Closes one thing after the other, last the one the others stand on. A second signal, or too long a wait, ends it at once. */
export function stopOnSignal(closings: Closing[]) {
  let stopping = false;
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    console.log(`Offshoot is stopping (${signal}).`);
    setTimeout(() => process.exit(1), drainSecondsMax * 1000).unref();
    for (const close of closings) await close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** For whatever keeps the platform from starting or a command from working: the reason in words, with a stack trace only for a bug. */
export function endWithSentence(error: Error) {
  const { code } = error as NodeJS.ErrnoException;
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof SyntaxError;
  console.error(
    isBug
      ? error
      : `offshoot: ${sentences[code ?? ''] ?? error.message}${error.cause instanceof Error ? `\n  ${error.cause.message}` : ''}`,
  );
  process.exit(1);
}

const sentences: Record<string, string> = {
  EADDRINUSE: 'The port is in use; stop the other program, or set OFFSHOOT_PORT to another port.',
  EACCES: 'This user may not listen on that port; set OFFSHOOT_PORT to one above 1023, or run as root.',
  EADDRNOTAVAIL: 'OFFSHOOT_HOST is not an address of this machine.',
};
