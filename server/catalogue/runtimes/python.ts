import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const python: RuntimeEntry = {
  versions: [bookworm.version('3.11', appTools, compilers, ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
