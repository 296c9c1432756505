/** Starts the process that brings images ahead, and hands on what it says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AheadTask } from './ahead-process.ts';
import type { ImageTypes } from './image-types.ts';

const program = join(import.meta.dirname, 'ahead-process.ts');

/** Throws the last words of the process where it failed. When it is aborted, all that it started dies. */
export async function runAhead(task: AheadTask, say: (line: string) => void, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const args = ['--pdeathsig', 'KILL', process.execPath, program];
  // `detached` puts it into a process group of its own.
  const child = spawn('setpriv', args, { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  // Where it is killed before it has read, how it ended says so.
  child.stdin.on('error', () => {}).end(JSON.stringify({ ...task, catalogue: recipesIn(task.catalogue) }));
  let last = '';
  createInterface({ input: child.stdout }).on('line', say);
  createInterface({ input: child.stderr }).on('line', (line) => (last = line || last));
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    const [code] = await once(child, 'close');
    if (code !== 0 && !signal.aborted) throw new Error(last);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** A catalogue may say more, which is no plain data. */
const recipesIn = (catalogue: ImageTypes): ImageTypes =>
  Object.fromEntries(
    Object.entries(catalogue).map(([name, { versions }]) => [
      name,
      { versions: versions.map(({ version, recipes }) => ({ version, recipes })) },
    ]),
  );
