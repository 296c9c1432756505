import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, packages } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const rust: RuntimeEntry = {
  versions: [bookworm.version('1', appTools, compilers, packages('rustc-web', 'cargo-web'), ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
