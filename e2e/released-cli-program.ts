/**
 * What runs when the released client is run. It is published for x64: a small program that unpacks a PHP and an archive of PHP, and runs the one with
 * the other; nearly every command is in the archive. Elsewhere an emulator runs all of it, and a command that takes a quarter of a second takes ten.
 * So there the archive is run by the system's PHP, as the program would run its own; `whole` is the program itself, emulated.
 */
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { repository } from './installation.ts';
import { runProgram } from './program.ts';

export interface CliProgram {
  file: string;
  args: string[];
  env: Record<string, string>;
}

const folder = join(repository, 'node_modules', '.cache', 'upsun-cli');
const whole = join(folder, 'bin', 'upsun');
const archive = join(folder, 'upsun.phar');
const unpackSecondsMax = 200;

/** As the program tells the archive. */
const told = {
  UPSUN_CLI_WRAPPED: '1',
  UPSUN_CLI_UPDATES_CHECK: '0',
  UPSUN_CLI_MIGRATE_CHECK: '0',
  UPSUN_CLI_APPLICATION_PROMPT_SELF_INSTALL: '0',
};

export async function cliProgram(kind: 'fast' | 'whole'): Promise<CliProgram> {
  if (kind === 'whole' || arch() === 'x64') return { file: whole, args: [], env: {} };
  if (!existsSync(archive)) await unpackArchive();
  return { file: 'php', args: [archive], env: told };
}

/** Into place by a rename, as several tests may come first at once. */
async function unpackArchive() {
  const home = await mkdtemp(join(folder, 'unpacking-'));
  try {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CACHE_HOME: home };
    await runProgram(whole, ['list', '--no-interaction'], { env, secondsMax: unpackSecondsMax });
    const [unpacked] = globSync('**/upsun.phar', { cwd: home });
    if (unpacked === undefined) throw new Error('The released client did not unpack its archive.');
    await rename(join(home, unpacked), archive);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
