/** The processes of this machine, as /proc tells of them. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface Process {
  pid: number;
  parent: number;
}

/**
 * A process and all that descend from it. One that has ended, and waits for its parent to notice, does not count; nor does the edge, which is meant to
 * outlive who started it.
 */
export function treeOf(root: number): number[] {
  const living = processes().filter(({ pid }) => !titleOf(pid).includes('/edge/process/launch.pl '));
  const tree = living.filter(({ pid }) => pid === root).map(({ pid }) => pid);
  for (const pid of tree) tree.push(...living.filter(({ parent }) => parent === pid).map((child) => child.pid));
  return tree;
}

/** Stops a tree where it stands, so that none of it starts another while it is looked at. Only SIGKILL is of use afterwards. */
export function freeze(root: number): number[] {
  let frozen: number[] = [];
  for (let look = 0; look < looksMax; look++) {
    const tree = treeOf(root);
    for (const pid of tree) signal(pid, 'SIGSTOP');
    if (tree.every((pid) => frozen.includes(pid))) break;
    frozen = tree;
  }
  return frozen;
}

const looksMax = 50;

/** PostgreSQL's processes in a data folder, whoever started them; they stand in its cluster, also when that is mounted elsewhere for them. */
export function postgresIn(data: string): number[] {
  const cluster = statSync(join(data, 'postgres', 'cluster'), { throwIfNoEntry: false });
  if (!cluster) return [];
  return numbersInProc().filter((pid) => {
    try {
      // One that has ended, and waits for its parent to notice, stands nowhere.
      const stands = statSync(`/proc/${pid}/cwd`);
      return stands.dev === cluster.dev && stands.ino === cluster.ino;
    } catch {
      return false;
    }
  });
}

export const isAlive = (pid: number) => describe(pid) !== undefined;

/** What PostgreSQL's processes call themselves, and for others their command. */
export function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** How long it was ready to go on while the machine did something else: its first thread. Nothing of one that is gone. */
export function waitedMilliseconds(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

export function signal(pid: number, name: NodeJS.Signals) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

const processes = (): Process[] =>
  numbersInProc()
    .map(describe)
    .filter((found) => found !== undefined);

const numbersInProc = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function describe(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : { pid, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
