/**
 * Two folders trade places in one move: at no moment is either name without a folder. Node has no call for it; perl, which is part of every
 * Debian, can make the system call, and newer versions of mv have an option.
 */
import { errorCode, run } from '../command.ts';

export const renameat2 = { arm64: 276, x64: 316 };
const script =
  'my ($call, $one, $other) = @ARGV; if (syscall($call + 0, -100, $one, -100, $other, 2) != 0) { print STDERR "exchange: $!\\n"; exit 1 }';

export async function swapFolders(one: string, other: string) {
  const call = process.arch === 'arm64' ? renameat2.arm64 : renameat2.x64;
  try {
    await run('perl', ['-e', script, '--', String(call), one, other]);
  } catch (error) {
    if (!(error instanceof Error) || errorCode(error.cause) !== 'ENOENT') throw error;
    await run('mv', ['--exchange', '--no-copy', '--no-target-directory', '--', one, other]);
  }
}
