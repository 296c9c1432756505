/**
 * The main process of the edge: keeps the table, and the processes that serve it; is told what to do by the control socket; sees no request.
 * Started by launch.pl, or by the main process that it replaces (upgrade.ts).
 */
import { openAnsweredSum } from './answered-requests.ts';
import { openControl, type EdgeStatus, type Program } from './control.ts';
import { frameOfBatch } from '../logs/batch-frames.ts';
import { rotateEnvironmentLog } from '../logs/environment-logs.ts';
import type { ToldBatch } from '../logs/records.ts';
import { visitsOfAll } from '../routing/last-visits.ts';
import { boundLog } from './log-file.ts';
import { openChannel, type Asks, type Channel, type Tellings } from './messages.ts';
import { startProcesses } from './processes.ts';
import { openTable } from '../routing/routing.ts';
import { certificateFolderOf, controlSocketOf, drainSecondsMax, readSettings, tableFolderOf } from './settings.ts';
import { openStreams } from './streams.ts';
import { openTableFolder } from '../routing/table-folder.ts';
import { openTableKeeper } from '../routing/table-keeper.ts';
import { openCertificateFolder } from '../tls/certificate-folder.ts';
import { openCertificateKeeper } from '../tls/certificate-keeper.ts';
import { openCertificates } from '../tls/certificates.ts';
import { keyFor } from '../tls/edge-secret.ts';
import { announceMainProcess, announceStop, renewGuard, startSuccessor, type Relay, type Successor } from './upgrade.ts';
import { openWakes } from '../routing/wakes.ts';

const [settingsFile = ''] = process.argv.slice(2);
const settings = readSettings(settingsFile);
const startedAt = new Date().toISOString();
boundLog(settings.folder);

const tableFolder = openTableFolder(tableFolderOf(settings.folder));
const table = openTable();
const certificates = openCertificates();
const certificateKeeper = openCertificateKeeper(
  certificates,
  openCertificateFolder(certificateFolderOf(settings.folder), keyFor('certificates at rest')),
  {
    put: (some) => processes.askAll('put_certificates', { certificates: some }).then(() => undefined),
    remove: (ids) => processes.askAll('remove_certificates', { ids }).then(() => undefined),
    challenge: (open) => processes.askAll('challenge', open).then(() => undefined),
  },
);
let predecessor: Channel | undefined;
let successor: Successor | undefined;

const events = openStreams(
  'application/x-ndjson',
  () => wakes.pending().map(lineOfWake).join(''),
  () => {},
);
const records = openStreams(
  'application/octet-stream',
  () => '',
  (count) => tellEveryone('records_wanted', { wanted: count > 0 }),
);
const tellRecords = async (batch: ToldBatch) => (await records.send(frameOfBatch(batch))) > 0;
const lineOfWake = (cluster: string) => `${JSON.stringify({ event: 'wake', cluster })}\n`;
const wakes = openWakes(table, (cluster) => {
  successor?.channel.tell('wake', { cluster });
  void events.send(lineOfWake(cluster));
});

const known = {
  environments: () => table.environments(),
  certificates: () => certificates.all(),
  challenges: () => certificateKeeper.challenges,
};
const processes = startProcesses(settingsFile, settings, known, {
  wake: (cluster) => wakes.ask(cluster),
  records: (batch) => (successor ? successor.channel.ask('record_batch', batch) : tellRecords(batch)),
  logFull: (file) => void rotateEnvironmentLog(settings.logs, file).catch((error: unknown) => console.error(error)),
  restarted(pid, reason) {
    console.error(`edge: process ${pid} ${reason}; another is started`);
    void events.send(`${JSON.stringify({ event: 'restart', pid, reason })}\n`);
  },
});

/** The table is loaded while the processes start. */
const loaded = tableFolder.load();
for (const environment of loaded.environments) table.put(environment);
certificateKeeper.load();
for (const file of loaded.setAside) console.error(`edge: ${file} of the table could not be read and was set aside`);

/** Asks our processes, and those of the version before that still finish requests. */
async function askEveryone<K extends keyof Asks>(kind: K, ask: Asks[K]['ask'], secondsMax?: number): Promise<Asks[K]['answer'][]> {
  const [ours, theirs] = await Promise.all([
    processes.askAll(kind, ask, secondsMax),
    predecessor?.ask(kind, ask, secondsMax).then(
      (answer) => [answer],
      () => [],
    ),
  ]);
  return [...ours, ...(theirs ?? [])];
}

function tellEveryone<K extends keyof Tellings>(kind: K, telling: Tellings[K]) {
  processes.tellAll(kind, telling);
  predecessor?.tell(kind, telling);
}

const answerSecondsMax = 5;
const relay: Relay = {
  put: (ask) => askEveryone('put', ask).then(() => undefined),
  remove: (ask) => askEveryone('remove', ask).then(() => undefined),
  async drain(ask) {
    const remaining = await askEveryone('drain', ask, ask.seconds_max + answerSecondsMax);
    return remaining.reduce((sum, count) => sum + count, 0);
  },
  visits: async (ask) => visitsOfAll(await askEveryone('visits', ask)),
  wantRecords: (wanted) => tellEveryone('records_wanted', { wanted }),
};

const keeper = openTableKeeper(table, tableFolder, {
  put: (environments) => relay.put({ environments }),
  remove: (clusters) => relay.remove({ clusters }),
});

const control = await openControl(controlSocketOf(settings.folder), {
  keeper,
  versions: () => table.versions(),
  certificates: certificateKeeper,
  drain: (cluster, instance, secondsMax) => relay.drain({ cluster, instance, seconds_max: secondsMax }),
  visits: () => relay.visits({}),
  status,
  upgrade,
  stop: (secondsMax) => void finish(secondsMax),
  events,
  records,
});

const answeredSum = openAnsweredSum();

async function status(): Promise<EdgeStatus> {
  const serving = await processes.status();
  return {
    version: settings.version,
    node: process.version,
    pid: process.pid,
    parent_pid: process.ppid,
    started_at: startedAt,
    listeners: settings.listeners,
    environments: Object.keys(table.versions()).length,
    contested: table.contested(),
    set_aside: loaded.setAside,
    processes: serving,
    answered: answeredSum(serving),
    restarts: processes.restarts,
    has_predecessor: predecessor !== undefined,
  };
}

let upgrading: Promise<number> | undefined;
function upgrade(program: Program): Promise<number> {
  upgrading ??= handOver(program).finally(() => (upgrading = undefined));
  return upgrading;
}

async function handOver(program: Program): Promise<number> {
  try {
    const taken = await startSuccessor(program, settings, { table: keeper, certificates: certificateKeeper }, relay);
    successor = taken;
    for (const cluster of wakes.pending()) taken.channel.tell('wake', { cluster });
    void taken.ended.then(endWithSuccessor);
    setImmediate(() => void finish(drainSecondsMax));
    return taken.pid;
  } catch (error) {
    becomeMain();
    throw error;
  }
}

let isFinishing = false;
async function finish(secondsMax: number) {
  if (isFinishing) return;
  isFinishing = true;
  control.close();
  await processes.finish(secondsMax);
  if (!successor) announceStop(settings);
  process.exit(0);
}

/** A successor that was stopped has waited for our requests too. After any other end the guard starts another one, beside which our processes finish. */
function endWithSuccessor(exitCode: unknown) {
  if (exitCode === 0) processes.kill();
  process.exit(0);
}

function becomeMain() {
  announceMainProcess(settings);
  control.takeAddress();
}

async function takeOverFrom(before: Channel) {
  const { changed } = await before.ask('take_over', {});
  await keeper.reload(changed);
  await certificateKeeper.reload();
  predecessor = before;
  process.once('disconnect', () => {
    predecessor = undefined;
    void renewGuard();
  });
}

process.on('SIGTERM', () => void finish(drainSecondsMax));
process.on('SIGINT', () => {});

await processes.started;
if (process.send) {
  const before = openChannel(process, { record_batch: tellRecords }, { wake: ({ cluster }) => wakes.ask(cluster) });
  await takeOverFrom(before);
}
becomeMain();
await processes.listen();
predecessor?.tell('taken_over', {});
console.error(`edge: ${settings.version} serves ${loaded.environments.length} environments (${process.uptime().toFixed(2)} s)`);
