import { bookworm, forky, packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import { cacheOf, storeOf } from './key-value-store.ts';

const program = packages('valkey-server', 'valkey-tools');
const versions = [
  forky.version('9.1', program),
  trixie.version('8.1', program),
  bookworm.version('8.0', bookworm.backports('valkey-server', 'valkey-tools')),
];

export const valkey: ServiceEntry = { versions, profile: 'BALANCED', service: cacheOf('valkey') };
export const valkeyPersistent: ServiceEntry = { versions, profile: 'BALANCED', service: storeOf('valkey') };
