/**
 * The control socket: HTTP and JSON on a unix socket that only its owner and root may use.
 *
 *   GET    /environments                     {"<cluster>": <version>, …}
 *   PUT    /environments/<cluster>           an EdgeEnvironment → {"changed": true}
 *   DELETE /environments/<cluster>           → {"changed": true}
 *   POST   /environments/keep                {"clusters": […]}: the others are removed → {"removed": […]}
 *   POST   /environments/<cluster>/drain     {"instance": …, "seconds_max": …} → {"remaining": 0}
 *   GET    /certificates                     {"<id>": <version>, …}; keys are told to nobody
 *   PUT    /certificates/<id>                an EdgeCertificate → {"changed": true}
 *   DELETE /certificates/<id>                → {"changed": true}
 *   POST   /certificates/keep                {"ids": […]}: the others are removed → {"removed": […]}
 *   PUT    /challenges                       Challenges: all that are open now
 *   GET    /visits                           LastVisits
 *   GET    /events                           lines of JSON, for as long as one listens: see EdgeEvent
 *   GET    /records                          requests, as batches of bytes (logs/batch-frames.ts), for as long as one listens
 *   GET    /status                           EdgeStatus
 *   POST   /upgrade                          {"node": …, "main": …, "settings": …} → {"pid": …} when the successor has taken over
 *   POST   /stop                             {"seconds_max": …}: lets requests finish, then ends
 *
 * A change is answered when every process has it. 400 names each bad field; 503 says that a successor takes over: ask again.
 */
import { existsSync, linkSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { isCluster, parseEnvironment } from '../routing/environment-schema.ts';
import type { LastVisits } from '../routing/last-visits.ts';
import type { AnsweredRequests } from './answered-requests.ts';
import type { ProcessStatus } from './messages.ts';
import { fields, list, number, parserOf, Refused, text, textLike } from '../routing/schema.ts';
import type { ListenAddress } from './settings.ts';
import type { Streams } from './streams.ts';
import { HandingOver, type TableKeeper } from '../routing/table-keeper.ts';
import { isCertificateId, parseCertificate } from '../tls/certificate.ts';
import { flawOf } from '../tls/certificates.ts';
import type { CertificateKeeper } from '../tls/certificate-keeper.ts';
import { parseChallenges } from '../tls/challenges.ts';

export interface EdgeStatus {
  /** As in the settings. */
  version: string;
  node: string;
  pid: number;
  /** The process that starts the main process again when it fails; while a predecessor finishes, that predecessor. */
  parent_pid: number;
  started_at: string;
  listeners: ListenAddress[];
  environments: number;
  /** Hosts that several environments have in their routes, and who owns each; the others' tables are out of date. */
  contested: { host: string; owner: string; others: string[] }[];
  /** Files of the table that could not be read at the start. */
  set_aside: string[];
  processes: ProcessStatus[];
  /** By all processes since the main process started, also by those that have ended. */
  answered: AnsweredRequests;
  restarts: number;
  /** Requests of the version before are still under way. */
  has_predecessor: boolean;
}

export interface Program {
  node: string;
  main: string;
  settings: string;
}

export interface ControlOperations {
  keeper: TableKeeper;
  versions(): Record<string, number>;
  certificates: CertificateKeeper;
  drain(cluster: string, instance: string, secondsMax: number): Promise<number>;
  visits(): Promise<LastVisits>;
  status(): Promise<EdgeStatus>;
  /** Resolves to the number of the successor. */
  upgrade(program: Program): Promise<number>;
  /** Returns at once. */
  stop(secondsMax: number): void;
  events: Streams;
  records: Streams;
}

export interface Control {
  /** From now on the address is ours, whoever had it before. */
  takeAddress(): void;
  close(): void;
}

const bodyBytesMax = 16_000_000;
const waitSecondsMax = 3600;
const clustersMax = 1_000_000;
const path = textLike(/^\/[^\0\n]*$/, 4096, 'a path that begins with a slash');
const word = text(256);
const seconds = number(0, waitSecondsMax);
const parseKeep = parserOf(fields<{ clusters: string[] }>({ clusters: list(word, clustersMax) }), 'The body');
const parseKeepCertificates = parserOf(fields<{ ids: string[] }>({ ids: list(word, clustersMax) }), 'The body');
const parseDrain = parserOf(fields<{ instance: string; seconds_max: number }>({ instance: word, seconds_max: seconds }), 'The body');
const parseStop = parserOf(fields<{ seconds_max: number }>({ seconds_max: seconds }), 'The body');
const parseProgram = parserOf(fields<Program>({ node: path, main: path, settings: path }), 'The body');

/** `name` is that of the path: of an environment or of a certificate. */
type Handler = (operations: ControlOperations, request: IncomingMessage, name: string) => unknown;

const handlers: [method: string, path: RegExp, handle: Handler][] = [
  ['GET', /^\/environments$/, ({ versions }) => versions()],
  [
    'POST',
    /^\/environments\/keep$/,
    async ({ keeper }, request) => ({ removed: await keeper.keepOnly(new Set(parseKeep(await bodyOf(request)).clusters)) }),
  ],
  ['PUT', /^\/environments\/([^/]+)$/, putEnvironment],
  ['DELETE', /^\/environments\/([^/]+)$/, async ({ keeper }, _, cluster) => ({ changed: await keeper.remove(cluster) })],
  ['POST', /^\/environments\/([^/]+)\/drain$/, drainInstance],
  ['GET', /^\/certificates$/, ({ certificates }) => certificates.versions()],
  [
    'POST',
    /^\/certificates\/keep$/,
    async ({ certificates }, request) => ({
      removed: await certificates.keepOnly(new Set(parseKeepCertificates(await bodyOf(request)).ids)),
    }),
  ],
  ['PUT', /^\/certificates\/([^/]+)$/, putCertificate],
  ['DELETE', /^\/certificates\/([^/]+)$/, async ({ certificates }, _, id) => ({ changed: await certificates.remove(id) })],
  ['PUT', /^\/challenges$/, async ({ certificates }, request) => certificates.challenge(parseChallenges(await bodyOf(request)))],
  ['GET', /^\/visits$/, ({ visits }) => visits()],
  ['GET', /^\/status$/, ({ status }) => status()],
  ['POST', /^\/upgrade$/, async ({ upgrade }, request) => ({ pid: await upgrade(parseProgram(await bodyOf(request))) })],
  ['POST', /^\/stop$/, async ({ stop }, request) => stop(parseStop(await bodyOf(request)).seconds_max)],
];

async function putEnvironment({ keeper }: ControlOperations, request: IncomingMessage, cluster: string) {
  const environment = parseEnvironment(await bodyOf(request));
  if (environment.cluster !== cluster) throw new Refused({ cluster: 'is not the one of the address' });
  return { changed: await keeper.put(environment) };
}

async function putCertificate({ certificates }: ControlOperations, request: IncomingMessage, id: string) {
  const certificate = parseCertificate(await bodyOf(request));
  if (certificate.id !== id) throw new Refused({ id: 'is not the one of the address' });
  const flaw = flawOf(certificate);
  if (flaw !== undefined) throw new Refused({ certificate: `cannot be used: ${flaw}` });
  return { changed: await certificates.put(certificate) };
}

async function drainInstance({ drain }: ControlOperations, request: IncomingMessage, cluster: string) {
  const { instance, seconds_max } = parseDrain(await bodyOf(request));
  return { remaining: await drain(cluster, instance, seconds_max) };
}

/** Listens beside the address until it takes it. */
export async function openControl(address: string, operations: ControlOperations): Promise<Control> {
  const scratch = `${address}.${process.pid}`;
  removeAbandoned(address);
  const server = createServer((request, response) => void answer(operations, request, response));
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(scratch, resolve));
  await chmod(scratch, 0o600);
  return {
    takeAddress() {
      linkSync(scratch, `${scratch}.new`);
      renameSync(`${scratch}.new`, address);
    },
    close() {
      operations.events.end();
      operations.records.end();
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Removes sockets that killed processes left. */
function removeAbandoned(address: string) {
  for (const name of readdirSync(dirname(address))) {
    if (!name.startsWith(`${basename(address)}.`)) continue;
    const pid = name.slice(basename(address).length + 1);
    if (Number(pid) === process.pid || !existsSync(`/proc/${pid}`)) rmSync(join(dirname(address), name), { force: true });
  }
}

async function answer(operations: ControlOperations, request: IncomingMessage, response: ServerResponse) {
  const [address = ''] = (request.url ?? '').split('?');
  if (request.method === 'GET' && address === '/events') return operations.events.add(response);
  if (request.method === 'GET' && address === '/records') return operations.records.add(response);
  try {
    const found = handlers.find(([method, itsPath]) => method === request.method && itsPath.test(address));
    if (!found) return reply(response, 404, { error: 'There is no such operation.' });
    const name = found[1].exec(address)?.[1] ?? '';
    const isName = address.startsWith('/certificates/') ? isCertificateId : isCluster;
    if (name !== '' && !isName(name)) throw new Refused({ address: 'is of nothing that could be here' });
    return reply(response, 200, (await found[2](operations, request, name)) ?? {});
  } catch (error) {
    if (error instanceof Refused) return reply(response, 400, { error: error.message, fields: error.fields });
    if (error instanceof HandingOver) return reply(response, 503, { error: error.message });
    console.error(error);
    return reply(response, 500, { error: error instanceof Error ? error.message : String(error) });
  }
}

function reply(response: ServerResponse, status: number, body: unknown) {
  const bytes = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }).end(bytes);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  if (!(length <= bodyBytesMax)) throw new Refused({ 'The body': `must say its length, and be of ${bodyBytesMax} bytes at most` });
  try {
    return await json(request);
  } catch {
    throw new Refused({ 'The body': 'is not JSON' });
  }
}
