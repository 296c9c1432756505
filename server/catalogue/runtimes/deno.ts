import type { Recipe } from '../../drivers/images/recipe.ts';
import { appTools, compilers, sshTools } from '../app-layers.ts';
import { trixie } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';
import { tarballFor } from '../npm-tarballs.ts';

// cspell:disable
const tarballs = {
  version: '2.9.5',
  x64: 'TDqcnoLe3jlgqYEQm7H7MK6q0JOth+o8iSZzknRODnVkJfPiNnjVn1M1Zc6vnp+ipkyb6Av1/CUlHgHtlq59Gw==',
  arm64: 'IuYjsz9PGl7CJcNXMuN27KNDB8Q40brK3SG3l+TXMDVW61ZKwcn0fQHBHnXFiiygEwI8by/fKnASEluhZB1atw==',
};
// cspell:enable

const program: Recipe = {
  kind: 'npm-packages',
  packages: [
    {
      ...tarballFor((architecture) => `@deno/linux-${architecture}-glibc`, tarballs),
      into: '/usr/local/bin',
      without: ['*.md', 'LICENSE', 'package.json'],
    },
  ],
};

export const deno: RuntimeEntry = {
  versions: [trixie.version('2', appTools, compilers, program, ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {
    // Deno keeps what it fetched, which apps find when they run, in a folder of the app.
    env: { DENO_DIR: '/app/.deno', DENO_NO_UPDATE_CHECK: '1' },
    flavor: { name: 'default', file: 'deno.json', script: 'deno install' },
  },
};
