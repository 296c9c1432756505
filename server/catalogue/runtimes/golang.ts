import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const golang: RuntimeEntry = {
  versions: [
    bookworm.version(
      '1.23',
      appTools,
      compilers,
      bookworm.backports('golang-1.23-go', 'golang-1.23-src', 'golang-go', 'golang-src'),
      ...sshTools,
    ),
  ],
  profile: 'HIGH_CPU',
  runtime: {},
};
