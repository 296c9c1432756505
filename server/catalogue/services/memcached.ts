import { packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import { mebibytes, type Service } from '../service.ts';

/** The rest of the memory is for connections and the index. */
const shareOfMemory = 0.8;

const service: Service = {
  ports: [11211],
  keepsData: false,
  writable: ['/tmp', '/run'],
  env: {},
  initialise: [],
  start: ({ limits }) => [
    'memcached',
    '-l',
    '0.0.0.0',
    '-p',
    '11211',
    '-U',
    '0',
    '-m',
    String(mebibytes(limits.memoryBytes * shareOfMemory)),
  ],
  probe: { kind: 'port', port: 11211, secondsMax: 60 },
  quiesce: [],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 10 },
  relationship: { rel: 'memcached', scheme: 'memcached', port: 11211 },
};

export const memcached: ServiceEntry = {
  versions: [trixie.version('1.6', packages('memcached'))],
  profile: 'BALANCED',
  service,
};
