import { appTools, sshTools } from '../app-layers.ts';
import { bookworm, packages, type Release, trixie } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

const version = (number: string, release: Release) =>
  release.version(number, appTools, packages(`openjdk-${number}-jdk-headless`, 'maven'), ...sshTools);

export const java: RuntimeEntry = {
  versions: [version('25', trixie), version('21', trixie), version('17', bookworm)],
  retired: ['18', '16', '15', '14', '13', '12', '11', '8'],
  profile: 'HIGH_MEMORY',
  runtime: {},
};
