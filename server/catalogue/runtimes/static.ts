import { appTools, sshTools } from '../app-layers.ts';
import { bookworm } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const staticFiles: RuntimeEntry = {
  versions: [bookworm.version('1', appTools, ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
