import { bookworm, packages, trixie } from '../debian.ts';
import { type Clients, deprecated, type ServiceEntry } from '../entry.ts';
import { cacheOf, storeOf } from './key-value-store.ts';

const program = packages('redis-server', 'redis-tools');
const versions = [trixie.version('8.0', program), deprecated(bookworm.version('7.0', program))];
const retired = ['6.2', '6.0', '5.0', '4.0', '3.2', '3.0', '2.8'];
const clients: Clients = { packages: ['redis-tools'] };

export const redis: ServiceEntry = { versions, retired, profile: 'BALANCED', service: cacheOf('redis'), clients };
export const redisPersistent: ServiceEntry = { versions, retired, profile: 'BALANCED', service: storeOf('redis'), clients };
