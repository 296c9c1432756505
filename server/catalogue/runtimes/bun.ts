import type { Recipe } from '../../drivers/images/recipe.ts';
import { appTools, compilers, sshTools } from '../app-layers.ts';
import { trixie } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';
import { tarballFor } from '../npm-tarballs.ts';

// cspell:disable
const tarballs = {
  version: '1.4.4',
  x64: 'FBU6T21NT+i+rESbi0Z8A8G5xN51c+WZ0v6pIjI6szSzOlqVNv64nf7FPnwNIyxKD1M7Wg5cEobLC/QbzCeLtA==',
  arm64: 'ZTVtpf9zmHSBVPX1sBwe5agGb/rN34yPGg/Hby8e2Ax2uCUA2URZKlZH7qLntK7qaFJCMXh9v0GWNYN2zINz1w==',
};
// cspell:enable

/** On x64 the build that runs on every processor, also on those without AVX2. */
const names = { x64: '@oven/bun-linux-x64-baseline', arm64: '@oven/bun-linux-aarch64' } as const;

const program: Recipe = {
  kind: 'npm-packages',
  packages: [{ ...tarballFor((architecture) => names[architecture], tarballs), from: 'bin', into: '/usr/local/bin' }],
  links: { '/usr/local/bin/bunx': 'bun' },
};

export const bun: RuntimeEntry = {
  versions: [trixie.version('1', appTools, compilers, program, ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {
    flavor: { name: 'default', file: 'package.json', script: 'bun install' },
  },
};
