/** Starts the process that brings images ahead, and hands on what it says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AheadTask } from './ahead-process.ts';

const program = join(import.meta.dirname, 'ahead-process.ts');

/** Throws the last words of the process where it failed. When it is aborted, all that it started dies. */
export async function runAhead(task: AheadTask, say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const args = ['--pdeathsig', 'KILL', process.execPath, program, JSON.stringify(task)];
  // detached: in a process group of its own.
  const child = spawn('setpriv', args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
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
