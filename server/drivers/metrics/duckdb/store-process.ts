/** The process of the store. It is told what to do over the channel to the platform, and ends with it. The one argument: its task, as JSON. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withFileLock } from '../../file-lock.ts';
import type { Call, ProcessTask, Reply } from './protocol.ts';
import { NoRoom, openStore, type Store } from './store.ts';

const task: ProcessTask = JSON.parse(process.argv[2] ?? '');
const leaving = new AbortController();
process.on('disconnect', () => leaving.abort());
// Whoever ends the platform by a signal to the whole group lets it hand over what it still has.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

const tell = (reply: Reply) => {
  // The platform may be gone by now.
  if (process.connected) process.send?.(reply, undefined, undefined, () => {});
};

mkdirSync(task.folder, { recursive: true, mode: 0o700 });
// One that was started by an earlier platform may still be closing its files.
await withFileLock(join(task.folder, 'lock'), leaving.signal, serve).catch((error: unknown) => {
  if (!leaving.signal.aborted) throw error;
});
process.exit();

async function serve() {
  const store = await openStore(task);
  process.on('message', (call: Call) => void answer(store, call));
  tell({ kind: 'ready' });
  while (!leaving.signal.aborted) {
    await store.tidy(Date.now() / 1000).catch((error: unknown) => console.error(`metrics: ${String(error)}`));
    await sleep(task.tidyMilliseconds, undefined, { signal: leaving.signal }).catch(() => {});
  }
  await store.close();
}

async function answer(store: Store, { id, name, argument }: Call) {
  try {
    const work = store[name] as (argument: Call['argument']) => Promise<unknown>;
    tell({ kind: 'answer', id, answer: await work(argument) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // DuckDB refuses everything after some failures, until its files are opened anew.
    if (/has been invalidated|FATAL/.test(message)) process.exit(1);
    tell({
      kind: 'failure',
      id,
      message,
      isNoRoom: error instanceof NoRoom || /No space left|Could not write|not enough space/i.test(message),
    });
  }
}
