/**
 * What the edge gets to see of the machine (edge/process/sandbox.pl), and whether one that runs sees it. Those who are not root can have no sandbox; then the
 * edge is a program like any other of theirs.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run } from '../command.ts';

export interface SandboxFolders {
  folder: string;
  logs: string;
  volumes: string;
}

export interface Sandbox {
  /** The words that go before a program to run it inside the sandbox. */
  readonly enter: readonly string[];
  /** Whether the process is in a sandbox like this: only such a process can be shown more. */
  holds(pid: number): boolean;
  /** Shows the process what came since it started, such as the program of another version, or a pool that was mounted anew. */
  showTo(pid: number): Promise<void>;
}

const edgeFolder = resolve(import.meta.dirname, '../../../edge');
const script = join(edgeFolder, 'process/sandbox.pl');
/** The edge runs as the first of these users that exists; otherwise root stays root, with as few rights. */
const systemUsers = 'offshoot-edge,offshoot';

const noSandbox: Sandbox = { enter: [], holds: () => true, showTo: async () => {} };

export function sandboxOf({ folder, logs, volumes }: SandboxFolders): Sandbox {
  if (process.getuid?.() !== 0) return noSandbox;
  const shown = [
    ['keep', folder],
    ['keep', logs],
    ['serve', volumes],
    ['run', edgeFolder],
    ['run', resolve(edgeFolder, '../package.json')],
    ['run', process.execPath],
  ];
  const words = [String(shown.length), ...shown.flat()];
  /** A sandbox that was made in another way, or for other data, goes on showing what it was made with; so it needs a version. */
  const version = createHash('sha256')
    .update(readFileSync(script))
    .update(JSON.stringify([folder, logs, volumes]))
    .digest('hex');
  return {
    enter: ['perl', script, 'enter', version, systemUsers, ...words],
    holds: (pid) => versionAt(pid) === version,
    async showTo(pid) {
      await run('perl', [script, 'show', String(pid), ...words]);
    },
  };
}

/** The file is the platform's: the edge cannot write where it is. */
function versionAt(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/root/sandbox-version`, 'utf8');
  } catch {
    return undefined;
  }
}
