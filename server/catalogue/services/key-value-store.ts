/**
 * What Redis and what came of it have in common: a cache that forgets with its container, or a store with a log of every write in its volume. Clients
 * expect them to have no password; only their environment's network reaches them.
 */
import type { ServiceConfiguration } from '../service-configuration.ts';
import { dataFolder, mebibytes, type Service, type ServiceCommand, type ServiceSettings } from '../service.ts';

/** The policies that decide which keys are evicted when memory is full. */
const policies = [
  'allkeys-lru',
  'allkeys-lfu',
  'allkeys-random',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'volatile-ttl',
  'noeviction',
];
const usualPolicy = 'allkeys-lru';

const configuration: ServiceConfiguration = { settings: { maxmemory_policy: { kind: 'choice', values: policies } } };

/** The rest of the memory is for copies of pages that change while Redis saves, and for buffers of clients. */
const shareOfMemory = 0.75;

export const cacheOf = (program: string): Service => ({
  ...shared(program),
  keepsData: false,
  start: (settings) => start(program, settings, { dir: '/run', save: '', appendonly: 'no' }),
  quiesce: [],
  resume: [],
});

export const storeOf = (program: string): Service => ({
  ...shared(program),
  keepsData: true,
  start: (settings) => start(program, settings, { dir: dataFolder, save: '', appendonly: 'yes', appendfsync: 'everysec' }),
  // From here until the snapshot, every acknowledged write is on disk.
  quiesce: [changeSetting(program, 'appendfsync', 'always')],
  resume: [changeSetting(program, 'appendfsync', 'everysec')],
});

const shared = (program: string) =>
  ({
    ports: [6379],
    writable: ['/tmp', '/run'],
    env: {},
    initialise: [],
    probe: { kind: 'command', argv: [`${program}-cli`, '-e', 'ping'], secondsMax: 60 },
    stop: { signal: 'SIGTERM', secondsMax: 15 },
    relationship: { rel: program, scheme: program, port: 6379, query: {} },
    configuration,
  }) as const;

function start(
  program: string,
  { limits, configuration: written }: ServiceSettings,
  persistence: Record<string, string>,
): [string, ...string[]] {
  const options = {
    bind: '*',
    'protected-mode': 'no',
    daemonize: 'no',
    maxmemory: `${mebibytes(limits.memoryBytes * shareOfMemory)}mb`,
    'maxmemory-policy': policies.find((policy) => policy === written['maxmemory_policy']) ?? usualPolicy,
    ...persistence,
  };
  return [`${program}-server`, ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])];
}

const changeSetting = (program: string, name: string, value: string): ServiceCommand => ({
  argv: [`${program}-cli`, '-e', 'config', 'set', name, value],
});
