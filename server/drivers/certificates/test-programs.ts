/**
 * Real servers to test with, of a Debian that has them new enough: an authority that speaks ACME (pebble) and a name server
 * (knot). They are brought as programs of images are, so nothing is installed on the machine, and no service is started on it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { testImagesFolder } from '../../testing/images.ts';
import { openImages } from '../images/cached-images.ts';
import type { ImageTypes } from '../images/image-types.ts';

export { canRunContainers as canBringPrograms, whyNoContainers as whyNoPrograms } from '../../testing/images.ts';

const into = '/opt/certificate-tests';
const catalogue: ImageTypes = {
  'certificate-tests': {
    versions: [
      {
        version: '1',
        recipes: [
          {
            kind: 'debian-apart',
            suite: 'forky',
            revision: '2026-11',
            packages: ['pebble', 'knot'],
            into,
            programs: ['/usr/bin/pebble', '/usr/sbin/knotd'],
          },
        ],
      },
    ],
  },
};

export type TestProgram = 'pebble' | 'knotd';

export interface RunningProgram {
  process: ChildProcess;
  /** The last part of what the program printed. */
  said(): string;
  stop(): Promise<void>;
}

const saidCharactersMax = 20_000;

export async function runProgram(program: TestProgram, args: readonly string[], env: Record<string, string> = {}): Promise<RunningProgram> {
  const { layers } = await openImages(testImagesFolder, catalogue).ensure('certificate-tests:1');
  const folder = join(layers.at(-1) as string, into);
  const libraries = join(folder, 'lib');
  const child = spawn(join(libraries, 'loader'), ['--library-path', libraries, join(folder, 'bin', program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidCharactersMax)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    process: child,
    said: () => said,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
