/**
 * The console as it was built from the sources at hand. A version that was not built yet is built now, in a program of its own that gives way to everything
 * else; it appears under its name whole, by a rename, so processes that build at the same time do not disturb each other.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../drivers/command.ts';
import { builtFolder, hashOfSources } from './sources.ts';

const buildSecondsMax = 300;
const saidCharactersMax = 2000;
const scratchPrefix = 'building-';
const program = join(import.meta.dirname, 'build-console.ts');

/** Answers the folder that holds it. */
export async function builtConsole(): Promise<string> {
  const folder = join(builtFolder, hashOfSources());
  if (existsSync(folder)) return folder;
  await mkdir(builtFolder, { recursive: true });
  const before = await readdir(builtFolder);
  const scratch = await mkdtemp(join(builtFolder, scratchPrefix));
  try {
    await build(scratch);
    await appear(scratch, folder);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  await removeOlder(before);
  return folder;
}

function build(folder: string): Promise<void> {
  return new Promise((settle, fail) => {
    const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'ignore', 'pipe'], timeout: buildSecondsMax * 1000 });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidCharactersMax)));
    child.once('spawn', () => child.pid !== undefined && giveWay(child.pid));
    child.once('error', fail);
    child.once('close', (code) => (code === 0 ? settle() : fail(new Error(`The console could not be built (${code}): ${said.trim()}`))));
  });
}

/** A program that has ended already needs no priority. */
function giveWay(pid: number) {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    if (errorCode(error) !== 'ERR_SYSTEM_ERROR') throw error;
  }
}

/** Another process may have been first, with the same content. */
async function appear(scratch: string, folder: string) {
  try {
    await rename(scratch, folder);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(String(errorCode(error)))) throw error;
  }
}

/** Folders of earlier sources, which a process that serves them has in its memory, and what a build that was killed left behind. */
async function removeOlder(names: readonly string[]) {
  for (const name of names) {
    const folder = join(builtFolder, name);
    if (!name.startsWith(scratchPrefix) || (await isAbandoned(folder))) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: 0 }));
  return Date.now() - mtimeMs > 2 * buildSecondsMax * 1000;
}
