/** The services there are, in the order in which they are shown. */
import type { ServiceEntry, StorageEntry } from './entry.ts';
import { chromeHeadless } from './services/chrome-headless.ts';
import { kafkaBroker } from './services/kafka.ts';
import { mariadb } from './services/mariadb.ts';
import { memcached } from './services/memcached.ts';
import { networkStorage } from './services/network-storage.ts';
import { postgresql } from './services/postgresql.ts';
import { rabbitmq } from './services/rabbitmq.ts';
import { redis, redisPersistent } from './services/redis.ts';
import { varnish } from './services/varnish.ts';
import { valkey, valkeyPersistent } from './services/valkey.ts';

export const services: Readonly<Record<string, ServiceEntry | StorageEntry>> = {
  postgresql,
  mariadb,
  mysql: mariadb,
  redis,
  'redis-persistent': redisPersistent,
  valkey,
  'valkey-persistent': valkeyPersistent,
  memcached,
  rabbitmq,
  kafka: kafkaBroker,
  'chrome-headless': chromeHeadless,
  varnish,
  'network-storage': networkStorage,
};
