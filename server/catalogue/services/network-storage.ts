import { bookworm } from '../debian.ts';
import type { StorageEntry } from '../entry.ts';

export const networkStorage: StorageEntry = {
  versions: [bookworm.version('1.0'), bookworm.version('2.0')],
  profile: 'HIGH_MEMORY',
  isStorage: true,
};
