import { appTools, sshTools } from '../app-layers.ts';
import { trixie } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const staticFiles: RuntimeEntry = {
  versions: [trixie.version('1', appTools, ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
