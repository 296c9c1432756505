/**
 * The process of the store, which all processes of an installation share. Whoever finds none starts one; of several that are started, the one that gets the lock of the folder serves, and the
 * others give way to it. It ends with the last process that uses it. The one argument: its task, as JSON.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifUnlocked } from '../../file-lock.ts';
import { lockIn, type ProcessTask } from './protocol.ts';
import { serveClients, type Clients } from './serve-clients.ts';
import { openStore } from './store.ts';
import { connectToStore } from './store-connection.ts';

const task: ProcessTask = JSON.parse(process.argv[2] ?? '');
const lookMilliseconds = 50;
const looksMax = 400;

// Whoever started it, and hears what it has to say, may be gone.
process.stderr.on('error', () => {});

let clients: Clients | undefined;
let isHurried = false;
// Whoever ends the platform by a signal to the whole group lets it hand over what it still has.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isHurried = true;
    clients?.hurry();
  });

mkdirSync(task.folder, { recursive: true, mode: 0o700 });
chmodSync(task.folder, 0o700);
await serveOrGiveWay();
process.exit();

/** Whoever has the lock either is about to serve, or serves, or is closing its files. */
async function serveOrGiveWay() {
  for (let look = 0; look < looksMax; look += 1) {
    if (await ifUnlocked(lockIn(task.folder), () => serve().then(() => true))) return;
    const other = await connectToStore(task.folder);
    other?.destroy();
    if (other) return;
    await sleep(lookMilliseconds);
  }
}

async function serve() {
  const store = await openStore(task);
  const ending = new AbortController();
  clients = await serveClients(task.folder, store, task.lingerMilliseconds);
  if (isHurried) clients.hurry();
  void clients.over.then(() => ending.abort());
  while (!ending.signal.aborted) {
    await store.tidy(Date.now() / 1000).catch((error: unknown) => console.error(`metrics: ${String(error)}`));
    await sleep(task.tidyMilliseconds, undefined, { signal: ending.signal }).catch(() => {});
  }
  await store.close();
  clients.close();
}
