/** Packs are let through up to the first object that is too large: a few megabytes can stand for gigabytes, which Git would inflate before anybody can refuse them. */
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { environmentOf, limited } from './command.ts';

export const objectBytesMax = 512 * 1024 ** 2;
export const largeObject = `The commits have a file of more than ${objectBytesMax / 1024 ** 2} MiB; remove it from each commit that has it.`;

const program = join(import.meta.dirname, 'bounded-receive-pack');

/** The command with a program in front of it that reads what a client sends to it. */
export const boundedBy = (receivePack: readonly string[]): string[] => [program, String(objectBytesMax), largeObject, ...receivePack];

/** Checks a pack that is kept in a file; what is no pack at all is let through. Throws a Problem. */
export async function refuseLargePack(file: string, signal: AbortSignal): Promise<void> {
  await using pack = await open(file);
  const code = await new Promise<number | null>((resolve, reject) => {
    const child = spawn(...limited(boundedBy([])), { cwd: '/', env: environmentOf(), stdio: [pack.fd, 'ignore', 'ignore'], signal });
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code === 1) throw new Problem('too-large', largeObject);
  if (code !== 0) throw new Error(`A pack could not be looked at: ${code}`);
}
