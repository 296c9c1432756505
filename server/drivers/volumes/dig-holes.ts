/** Gives back the room of what is only zeros in large files, as it was before somebody copied them byte by byte. Their times stay. */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutLinks } from '../mounts.ts';
import { longCommandSecondsMax, run } from '../command.ts';

/** Smaller files are not worth a look. */
const kibibytesMin = 1024;

/** Nobody else may write there meanwhile. Links are not followed, nor other file systems entered. */
export async function digHoles(folder: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'offshoot-times-'));
  const times = join(scratch, 'times');
  try {
    await (await open(times, 'w')).close();
    const each = ['-exec', 'touch', '--reference={}', '--', times, ';', '-exec', 'fallocate', '--dig-holes', '--', '{}', ';'];
    const back = ['-exec', 'touch', `--reference=${times}`, '--', '{}', ';'];
    const find = ['find', folder, '-xdev', '-type', 'f', '-size', `+${kibibytesMin - 1}k`, ...each, ...back] as const;
    const [program, ...args] = withoutLinks(folder, find);
    await run(program, args, longCommandSecondsMax);
  } finally {
    await rm(scratch, { recursive: true });
  }
}
