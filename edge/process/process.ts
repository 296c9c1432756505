/**
 * A process that serves requests. The main process starts it, gives it the listening sockets and the table, and tells it of changes; it has nothing
 * of its own that must be kept. When the main process is gone it lets what runs and waits finish, and ends: another has taken its place by then.
 */
import { createServer } from 'node:net';
import { openEdge } from '../edge.ts';
import { openEnvironmentLogs } from '../logs/environment-logs.ts';
import { countAnswer, noneAnswered } from './answered-requests.ts';
import { openChannel } from './messages.ts';
import { openRecords } from '../logs/records.ts';
import { openTable } from '../routing/routing.ts';
import { openAppsByCluster } from '../routing/served-apps.ts';
import { drainSecondsMax, firstDescriptor, readSettings, tableFolderOf } from './settings.ts';
import { openCertificates } from '../tls/certificates.ts';
import { ChallengeAnswers } from '../tls/challenges.ts';
import { keyFor } from '../tls/edge-secret.ts';
import { openTableFolder } from '../routing/table-folder.ts';

const backlog = 4096;
/** After a bug nobody knows what else is wrong, so the process ends soon. */
const failingSecondsMax = 10;
const followMilliseconds = 500;

const settings = readSettings(process.argv[2] ?? '');
const table = openTable();
const certificates = openCertificates();
const challenges = new ChallengeAnswers();
const apps = openAppsByCluster(table);
const logs = openEnvironmentLogs(settings.logs, apps, (file) => channel.tell('log_full', { file }));
const records = openRecords(apps, (batch) => channel.ask('record_batch', batch));
const answered = noneAnswered();
const edge = openEdge({
  table,
  trustedProxies: settings.trusted_proxies,
  routerName: settings.router_name,
  tls: { certificates, challenges, ticketSecret: keyFor('session tickets') },
  onRecord(record) {
    countAnswer(answered, record.status);
    records.push(record);
    logs.write(record);
  },
  onWake: (cluster) => channel.tell('wake', { cluster }),
  onStderr: (cluster, instance, text) => logs.writeError(cluster, instance, text),
});

let connections = 0;
const ports = settings.listeners.map(({ scheme }) =>
  createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    connections++;
    socket.once('close', () => connections--);
    if (scheme === 'https') edge.acceptSecure(socket);
    else edge.accept(socket, 'http');
  }),
);

let listening: Promise<unknown> | undefined;
const listen = () =>
  (listening ??= Promise.all(
    ports.map(
      (port, index) =>
        new Promise<void>((resolve, reject) => {
          port.once('error', reject).listen({ fd: firstDescriptor + index }, backlog, resolve);
        }),
    ),
  ));

let isFinishing = false;
async function finish(secondsMax: number) {
  if (isFinishing) return;
  isFinishing = true;
  for (const port of ports) port.close();
  await edge.close(secondsMax);
  await Promise.all([records.close(), logs.close()]);
  process.exit(0);
}

const channel = openChannel(
  process,
  {
    put({ environments }) {
      for (const environment of environments) table.put(environment);
    },
    remove({ clusters }) {
      for (const cluster of clusters) table.remove(cluster);
    },
    put_certificates({ certificates: some }) {
      for (const certificate of some) certificates.put(certificate);
    },
    remove_certificates({ ids }) {
      for (const id of ids) certificates.remove(id);
    },
    challenge(open) {
      challenges.replace(open);
    },
    drain: ({ cluster, instance, seconds_max }) => edge.drain(cluster, instance, seconds_max),
    status: () => ({
      pid: process.pid,
      connections,
      outstanding: edge.outstanding(),
      answered,
      records_dropped: records.dropped,
      log_lines_dropped: logs.dropped,
      memory_bytes: process.memoryUsage.rss(),
    }),
    visits: () => edge.visits(),
    async listen() {
      await listen();
    },
  },
  {
    records_wanted: ({ wanted }) => records.want(wanted),
    finish: ({ seconds_max }) => void finish(seconds_max),
  },
);

/** Nobody tells us of changes any more; the next main process writes them where we can read. */
function followTable() {
  const folder = openTableFolder(tableFolderOf(settings.folder));
  setInterval(() => {
    for (const cluster of edge.awaited()) {
      const environment = folder.read(cluster);
      if (environment) table.put(environment);
    }
  }, followMilliseconds);
}

process.once('disconnect', () => {
  followTable();
  void finish(drainSecondsMax);
});
process.on('SIGTERM', () => void finish(drainSecondsMax));
process.on('SIGINT', () => {});
process.on('uncaughtException', (error) => {
  console.error(error);
  if (isFinishing) return;
  channel.tell('failing', {});
  void finish(failingSecondsMax);
});
