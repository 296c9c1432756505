import { trixie } from '../debian.ts';
import type { StorageEntry } from '../entry.ts';

export const networkStorage: StorageEntry = {
  versions: [trixie.version('1.0'), trixie.version('2.0')],
  profile: 'HIGH_MEMORY',
  isStorage: true,
};
