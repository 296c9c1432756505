import type { NpmPackage, Recipe } from '../../drivers/images/recipe.ts';
import { appTools, compilers, sshTools } from '../app-layers.ts';
import { trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';
import { tarballFor, type Tarballs } from '../npm-tarballs.ts';

// cspell:disable
const programs: readonly { version: string; isDeprecated?: true; tarballs: Tarballs }[] = [
  {
    version: '26',
    tarballs: {
      version: '26.10.0',
      x64: 'OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
      arm64: 'idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
    },
  },
  {
    version: '24',
    tarballs: {
      version: '24.21.0',
      x64: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
      arm64: 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    },
  },
  {
    version: '22',
    tarballs: {
      version: '22.23.3',
      x64: 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
      arm64: 'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
    },
  },
  {
    version: '20',
    isDeprecated: true,
    tarballs: {
      version: '20.20.2',
      x64: 'PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
      arm64: 'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
    },
  },
];

const npmItself: NpmPackage = {
  name: 'npm',
  version: '11.19.1',
  integrity: 'sha512-ztsxKxt/kkIaAs+2i0GU6I+DRmUdrNasxTZKJe9TCdSjKxlhah/4r/hl5ygMD6XAg1qZ9c2TNomR4qgOydp10g==',
  into: '/usr/local/lib/node_modules/npm',
  without: ['docs', 'man'],
};

const corepack: NpmPackage = {
  name: 'corepack',
  version: '0.34.7',
  integrity: 'sha512-d5OLuTNh4zeJK8+u+G10KScqrnHKNNm6NvR4XO28FZyBFMGE60SNCrBetJLyKR9H1xGCG6U2LyswsyPNdO6kxw==',
  into: '/usr/local/lib/node_modules/corepack',
};
// cspell:enable

/** Node's headers stay, for packages with native parts, except the headers of OpenSSL, which take most of the room and are hardly used. */
const program = (tarballs: Tarballs): Recipe => ({
  kind: 'npm-packages',
  packages: [
    {
      ...tarballFor((architecture) => `node-linux-${architecture}`, tarballs),
      into: '/usr/local',
      without: ['include/node/openssl', 'share', '*.md', 'LICENSE', 'package.json'],
    },
  ],
});

const npm: Recipe = {
  kind: 'npm-packages',
  packages: [npmItself, corepack],
  links: {
    '/usr/local/bin/npm': '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npx': '../lib/node_modules/npm/bin/npx-cli.js',
    '/usr/local/bin/corepack': '../lib/node_modules/corepack/dist/corepack.js',
    '/usr/local/bin/yarn': '../lib/node_modules/corepack/dist/yarn.js',
    '/usr/local/bin/pnpm': '../lib/node_modules/corepack/dist/pnpm.js',
  },
};

export const nodejs: RuntimeEntry = {
  versions: programs.map(({ version, isDeprecated, tarballs }) => {
    const made = trixie.version(version, appTools, compilers, program(tarballs), npm, ...sshTools);
    return isDeprecated ? deprecated(made) : made;
  }),
  retired: ['25', '23', '21', '19', '18', '17', '16', '14', '12', '10', '8', '6'],
  profile: 'HIGH_CPU',
  runtime: {
    // Native packages are built with the headers in the image, not with downloaded ones. An app that is started by npm or npx would fetch megabytes at each start to tell nobody of a newer npm.
    env: { npm_package_config_node_gyp_nodedir: '/usr/local', npm_config_update_notifier: 'false' },
    flavor: { name: 'default', file: 'package.json', script: 'npm prune --userconfig .npmrc && npm install --userconfig .npmrc' },
  },
};
