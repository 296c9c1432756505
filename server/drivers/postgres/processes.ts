/**
 * The processes that work in a PostgreSQL folder, found by where they stand rather than by a number in a file: numbers are reused, and after
 * a kill of the first process the others may live on for a moment. Device and inode are compared, so a private mount does not hide them.
 */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const killSecondsMax = 10;
const pollMilliseconds = 10;

/** Ends all processes of the server: first by asking the postmaster for a fast shutdown, then by force. Committed data survives both. */
export async function stopProcesses(folder: string, postmaster: number | undefined, fastSecondsMax: number) {
  if (postmaster !== undefined && processesIn(folder).includes(postmaster)) {
    signal(postmaster, 'SIGINT');
    if (await allGone(folder, fastSecondsMax)) return;
  }
  for (const pid of processesIn(folder)) signal(pid, 'SIGKILL');
  if (!(await allGone(folder, killSecondsMax))) throw new Error(`The processes ${processesIn(folder).join(', ')} in ${folder} do not end.`);
}

const programs = new Set(['postgres', 'initdb']);

function processesIn(folder: string): number[] {
  const { dev, ino } = statSync(folder);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stands = statSync(`/proc/${pid}/cwd`);
        // After an update of the npm package the kernel calls the program "… (deleted)".
        const [program = ''] = basename(readlinkSync(`/proc/${pid}/exe`)).split(' ');
        return stands.dev === dev && stands.ino === ino && programs.has(program);
      } catch {
        // It ended while we looked, or belongs to someone whose processes we may not see: then it is not ours.
        return false;
      }
    })
    .map(Number);
}

async function allGone(folder: string, secondsMax: number): Promise<boolean> {
  const deadline = Date.now() + secondsMax * 1000;
  while (processesIn(folder).length > 0) {
    if (Date.now() > deadline) return false;
    await sleep(pollMilliseconds);
  }
  return true;
}

function signal(pid: number, name: 'SIGINT' | 'SIGKILL') {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
