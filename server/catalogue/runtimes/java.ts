import { appTools, sshTools } from '../app-layers.ts';
import { bookworm, packages } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const java: RuntimeEntry = {
  versions: [bookworm.version('17', appTools, packages('openjdk-17-jdk-headless', 'maven'), ...sshTools)],
  profile: 'HIGH_MEMORY',
  runtime: {},
};
