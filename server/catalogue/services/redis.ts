import { bookworm, packages } from '../debian.ts';
import type { Clients, ServiceEntry } from '../entry.ts';
import { cacheOf, storeOf } from './key-value-store.ts';

const versions = [bookworm.version('7.0', packages('redis-server', 'redis-tools'))];
const clients: Clients = { packages: ['redis-tools'] };

export const redis: ServiceEntry = { versions, profile: 'BALANCED', service: cacheOf('redis'), clients };
export const redisPersistent: ServiceEntry = { versions, profile: 'BALANCED', service: storeOf('redis'), clients };
