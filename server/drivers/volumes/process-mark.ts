/** Tells whether the process that left something still lives. A number alone would not: the kernel gives it to another process later. */
import { readFile } from 'node:fs/promises';

/** The number of this process and the moment it started, in the kernel's ticks. */
export async function processMark(): Promise<string> {
  return `${process.pid}-${(await startTicks(process.pid)) ?? 0}`;
}

/** Whether the process that named this entry, other than our own, still runs. */
export async function isAlive(entry: string, own: string): Promise<boolean> {
  const [, pid, ticks] = /^(\d{1,10})-(\d{1,20})-\d+$/.exec(entry) ?? [];
  if (pid === undefined || `${pid}-${ticks}` === own) return false;
  return (await startTicks(Number(pid))) === ticks;
}

async function startTicks(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program comes second, in parentheses, and may hold spaces; the start is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
