/**
 * Folders copied file by file with `cp`, sharing their blocks or not. No limit is enforced, a snapshot is protected only by nobody being given
 * its folder to write to, and a copy is not as of one moment: what writes must be stopped first. What goes on writing can spoil its own copy, and put
 * nothing from elsewhere into it.
 */
import { chmod, mkdir, statfs } from 'node:fs/promises';
import { Problem } from '../../kernel/problem.ts';
import { withoutLinks } from '../mounts.ts';
import { longCommandSecondsMax, noRoom, run } from '../command.ts';
import type { Copying } from './volume-folders.ts';

const roomBytesMin = 32 * 1024 ** 2;

export function copiedFolders(root: string, kind: 'reflink' | 'copy'): Copying {
  const capacity = async () => {
    const { bsize, blocks, bavail } = await statfs(root);
    return { bytes: blocks * bsize, freeBytes: bavail * bsize };
  };
  const copy = (from: string, to: string) => copyFolder(root, from, to, kind === 'reflink' ? 'always' : 'auto');
  return {
    kind,
    enforcesLimits: false,
    clonesWhileWritten: false,
    capacity,
    ready: async () => void (await mkdir(root, { recursive: true, mode: 0o700 })),
    room: async () => {
      const { freeBytes } = await capacity();
      if (freeBytes < roomBytesMin) throw noRoom(`${root} has ${freeBytes} bytes free`);
    },
    makeEmpty: async (folder) => {
      await mkdir(folder);
      await chmod(folder, 0o755);
    },
    copy,
    copySealed: copy,
    afterCopy: async () => {},
    limit: async () => {},
    keepLimits: async () => {},
    usage: async (folder) => {
      const bytes = Number.parseInt(await run('du', ['--summarize', '--block-size=1', '--', folder], longCommandSecondsMax), 10);
      return { bytes, exclusiveBytes: bytes };
    },
    usages: async () => new Map(),
    settle: () => run('sync', ['--file-system', '--', root], longCommandSecondsMax),
    discard: removeFolder,
    tidy: async () => {},
    close: async () => {},
  };
}

async function copyFolder(root: string, from: string, to: string, reflink: 'always' | 'auto') {
  const [program, ...args] = withoutLinks(root, ['cp', '--archive', `--reflink=${reflink}`, '--no-target-directory', '--', from, to]);
  try {
    await run(program, args, longCommandSecondsMax);
  } catch (error) {
    if (error instanceof Error && error.message.includes('No such file or directory'))
      throw new Problem('conflict', 'The volume was written to while it was copied; stop what writes to it, then try again.', {
        cause: error,
      });
    throw error;
  }
}

/** Without root, a folder that its owner may not write to cannot be emptied before it is made writable. */
async function removeFolder(folder: string) {
  const remove = () => run('rm', ['--recursive', '--force', '--one-file-system', '--', folder], longCommandSecondsMax);
  await remove().catch(async () => {
    await run('chmod', ['--recursive', 'u+rwX', '--', folder], longCommandSecondsMax);
    await remove();
  });
}
