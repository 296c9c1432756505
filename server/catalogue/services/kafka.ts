/**
 * Kafka as one broker that is its own controller (KRaft). It lets in everybody who reaches it, as clients expect; only its environment's network does. Clients are
 * told the broker's name by the broker itself, so it is told the name that everybody in the environment knows.
 */
import { packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import { dataFolder, mebibytes, type Service } from '../service.ts';
import { kafkaJars } from './kafka-jars.ts';

const port = 9092;
const controllerPort = 9093;
const jars = '/usr/share/kafka';
const data = `${dataFolder}/kafka`;
/** Every broker is a cluster of its own, which no other one joins, so all may have the same. */
// cspell:disable-next-line
const clusterId = 'T2Zmc2hvb3RLYWZrYTAwMQ';
/** The rest of the memory is for the files that the kernel keeps at hand, on which Kafka relies. */
const shareOfMemory = 0.5;

const settings = (folder: string, host: string) => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
  'controller.listener.names': 'CONTROLLER',
  listeners: `PLAINTEXT://:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
  'advertised.listeners': `PLAINTEXT://${host}:${port}`,
  'log.dirs': folder,
  // There is one broker, so each topic is there once.
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  // Each partition has files of its own, and these topics are for many brokers.
  'offsets.topic.num.partitions': '5',
  'transaction.state.log.num.partitions': '5',
  'share.coordinator.state.topic.num.partitions': '5',
  'group.initial.rebalance.delay.ms': '0',
});

const file = (folder: string, host: string) =>
  Object.entries(settings(folder, host))
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/** Arguments are the settings, and then a program of Kafka with its own arguments. */
const withSettings = `
printf '%s' "$1" >/tmp/server.properties || exit
shift
exec java -cp '${jars}/*' -Dorg.slf4j.simpleLogger.defaultLogLevel=warn "$@"
`;
const kafka = (text: string, ...words: string[]): [string, ...string[]] => ['dash', '-c', withSettings, 'kafka', text, ...words];

const service: Service = {
  ports: [port],
  keepsData: true,
  // A newer broker could go on with older data, but no older one with newer data, and nothing leads back.
  dataFormat: (version) => version,
  diskMin: 512,
  writable: ['/tmp', '/run'],
  env: { HOME: '/tmp', LANG: 'C.UTF-8' },
  initialise: [
    { argv: ['rm', '-rf', '--', `${data}.new`] },
    {
      argv: kafka(
        file(`${data}.new`, 'localhost'),
        'kafka.tools.StorageTool',
        'format',
        '--cluster-id',
        clusterId,
        '--config',
        '/tmp/server.properties',
      ),
    },
    { argv: ['mv', '--no-target-directory', '--', `${data}.new`, data] },
  ],
  initialised: 'kafka/meta.properties',
  start: ({ limits, host }) =>
    kafka(
      file(data, host),
      `-Xmx${Math.max(128, mebibytes(limits.memoryBytes * shareOfMemory))}m`,
      '-XX:+ExitOnOutOfMemoryError',
      'kafka.Kafka',
      '/tmp/server.properties',
    ),
  probe: { kind: 'port', port, secondsMax: 120 },
  // What was acknowledged has been handed to the file system, of which a snapshot has everything; a clone recovers as after a power failure.
  quiesce: [],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 60 },
  relationship: { rel: 'kafka', scheme: 'kafka', port },
};

const version = (number: '4.3' | '4.1') =>
  trixie.version(number, packages('openjdk-21-jre-headless'), { kind: 'maven-jars', jars: kafkaJars(number), into: jars });

export const kafkaBroker: ServiceEntry = {
  versions: [version('4.3'), version('4.1')],
  retired: ['3.4', '3.2', '2.7', '2.6', '2.5', '2.4', '2.3', '2.2', '2.1'],
  profile: 'HIGH_MEMORY',
  service,
  isLarge: true,
};
