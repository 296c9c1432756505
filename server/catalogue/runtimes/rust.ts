import { appTools, compilers, sshTools } from '../app-layers.ts';
import { packages, trixie } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const rust: RuntimeEntry = {
  versions: [trixie.version('1', appTools, compilers, packages('rustc-web', 'cargo-web'), ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
