import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, packages } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const ruby: RuntimeEntry = {
  versions: [bookworm.version('3.1', appTools, compilers, packages('ruby', 'ruby-dev', 'bundler'), ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
