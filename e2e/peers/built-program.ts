/**
 * Programs of others, built from source once and kept beside the images of tests: Go's proxy of modules has them all, wherever else they may be published. A folder is complete or absent;
 * its name says what it was made of, so that another version is another folder.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { testImagesFolder } from '../../server/testing/images.ts';

const run = promisify(execFile);
const kept = join(dirname(testImagesFolder), 'peers');
const outputBytesMax = 64 * 1024 * 1024;

/** Answers the folder, made by `make` where it is not there yet. */
export async function builtProgram(name: string, make: (scratch: string) => Promise<void>): Promise<string> {
  const folder = join(kept, `${name}-${process.arch}`);
  if (existsSync(folder)) return folder;
  const scratch = `${folder}.${process.pid}.new`;
  mkdirSync(scratch, { recursive: true });
  try {
    await make(scratch);
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return folder;
}

/** Without C, so that a compiler of Go is all that it takes. A newer one, where the program asks for it, Go brings by itself. */
export async function go(folder: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '-buildvcs=false -trimpath' };
  const { stdout } = await run('go', args, { cwd: folder, env, maxBuffer: outputBytesMax });
  return stdout;
}
