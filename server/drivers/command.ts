/** How programs of the machine are run: with an argument array, bounded in time and output, their failures told apart by what they mean. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Problem } from '../kernel/problem.ts';

export const commandSecondsMax = 60;
/** For copies and removals, which go file by file. */
export const longCommandSecondsMax = 3600;
const outputBytesMax = 16 * 1024 * 1024;
const saidCharactersMax = 500;

const env = { LC_ALL: 'C', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
const exec = promisify(execFile);

/** What the program printed. A full disk is a Problem; anything else that fails is an Error with the program's own words. */
export async function run(program: string, args: readonly string[], secondsMax = commandSecondsMax): Promise<string> {
  try {
    const { stdout } = await exec(program, [...args], { env, timeout: secondsMax * 1000, maxBuffer: outputBytesMax });
    return stdout;
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim().slice(0, saidCharactersMax) : '';
    if (/No space left on device|Disk quota exceeded/.test(said)) throw noRoom(said, cause);
    if (/Structure needs cleaning|Input\/output error|Read-only file system/.test(said)) throw broken(said, cause);
    throw new Error(`${program} ${args[0]} failed: ${said || String(cause)}`, { cause });
  }
}

export const noRoom = (internal: string, cause?: unknown) =>
  new Problem('unavailable', 'There is no room left for data on this machine; remove what is not needed, or give it a larger disk.', {
    internal,
    cause,
  });

const broken = (internal: string, cause: unknown) =>
  new Problem('unavailable', 'The disk that holds the data cannot be written to; look at the kernel log of the machine.', {
    internal,
    cause,
  });

export const errorCode = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);
