/** Fetches the files that a list names, a few at a time: `node fetch-files.ts list.json`, where the list has `url` and `file` of each. Each is tried a few times. */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const atOnce = 6;
const attemptsMax = 4;
const pauseMilliseconds = 1000;
const fileMillisecondsMax = 120_000;

interface Wanted {
  url: string;
  file: string;
}

async function fetchOne({ url, file }: Wanted) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const reply = await fetch(url, { signal: AbortSignal.timeout(fileMillisecondsMax) });
      if (!reply.ok) throw new Error(`${url} was answered ${reply.status}`);
      writeFileSync(file, Buffer.from(await reply.arrayBuffer()));
      return;
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      await sleep(attempt * pauseMilliseconds);
    }
  }
}

const waiting = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Wanted[];
const work = async () => {
  for (let next = waiting.pop(); next; next = waiting.pop()) await fetchOne(next);
};
await Promise.all(Array.from({ length: atOnce }, work));
