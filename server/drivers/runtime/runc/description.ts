/** What a container is to be: checked when it is asked for, kept so that it is found again by name. */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { isIP } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { type Static, Type } from 'typebox';
import { compileBody, type Parser } from '../../../kernel/parse.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Container, Limits } from '../runtime.ts';
import { type RuntimeFolders, durableOf, readText, writeWhole } from './runtime-folders.ts';

const name = Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' });
const path = Type.String({ pattern: '^(/[^/\\x00]+)+$', maxLength: 1000 });
const pathInside = Type.String({ pattern: '^[^/\\x00]+(/[^/\\x00]+)*$', maxLength: 1000 });
const text = Type.String({ pattern: '^[^\\x00]*$' });
const count = Type.Integer({ minimum: 0 });
const id = Type.Integer({ minimum: 0, maximum: 65_533 });
const seconds = Type.Number({ minimum: 0, maximum: 3600 });
const port = Type.Integer({ minimum: 1, maximum: 65_535 });
const argv = Type.Array(text, { minItems: 1, maxItems: 1000 });

const hostName = Type.String({ pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$' });
const ip = Type.String({ pattern: '^[0-9a-fA-F.:]+$', maxLength: 45 });
const ipRange = Type.String({ pattern: '^[0-9a-fA-F.:]+(/\\d{1,3})?$', maxLength: 49 });
const outbound = Type.Array(Type.Object({ ips: Type.Array(ipRange, { maxItems: 1000 }), ports: Type.Array(port, { maxItems: 1000 }) }), {
  maxItems: 1000,
});

const limits = Type.Object({ cpu: Type.Number({ minimum: 0 }), memoryBytes: count, pids: count, diskBytes: count });

const schema = Type.Object({
  name,
  layers: Type.Array(path, { minItems: 1, maxItems: 300 }),
  argv,
  env: Type.Record(Type.String({ pattern: '^[^=\\x00]+$' }), text),
  user: Type.Object({ uid: id, gid: id }),
  workingFolder: Type.Union([Type.Literal('/'), path]),
  writable: Type.Array(path, { maxItems: 30 }),
  mounts: Type.Array(Type.Object({ from: path, below: Type.Optional(pathInside), at: path, writable: Type.Boolean() }), { maxItems: 30 }),
  limits,
  network: name,
  names: Type.Array(hostName, { maxItems: 100 }),
  hosts: Type.Optional(Type.Record(hostName, ip)),
  outbound: Type.Optional(outbound),
  socket: Type.Optional(path),
  files: Type.Optional(Type.Record(path, text)),
  peer: Type.Optional(Type.Object({ group: hostName, name: hostName, at: path })),
  output: Type.Optional(path),
  nested: Type.Optional(Type.Boolean()),
  probe: Type.Optional(
    Type.Union([
      Type.Object({ kind: Type.Literal('port'), port, secondsMax: seconds }),
      Type.Object({ kind: Type.Literal('http'), port, path: Type.String({ pattern: '^/[^\\s]*$' }), secondsMax: seconds }),
      Type.Object({ kind: Type.Literal('socket'), secondsMax: seconds }),
      Type.Object({ kind: Type.Literal('command'), argv, secondsMax: seconds }),
    ]),
  ),
  restart: Type.Union([Type.Literal('never'), Type.Literal('on-failure'), Type.Literal('always')]),
  stop: Type.Object({
    signal: Type.Union([Type.Literal('SIGTERM'), Type.Literal('SIGINT'), Type.Literal('SIGQUIT')]),
    secondsMax: seconds,
  }),
});

let compiled: Parser | undefined;
/** By the first who asks: commands and starts that run nothing do not wait for it. */
const parse: Parser = (value) => (compiled ??= compileBody(schema))(value);
export type Description = Static<typeof schema>;

/** With less than this nothing starts at all, and the kernel's words would not say why. */
const limitsMin: Limits = { cpu: 0.01, memoryBytes: 6 * 1024 * 1024, pids: 4, diskBytes: 1024 * 1024 };
/** Paths that are ours in every container. */
const taken = ['/proc', '/dev', '/sys', '/etc', '/.offshoot'];

const leadsElsewhere = (part: string) => part === '.' || part === '..';

/** Throws a Problem that says what cannot be. */
export function checkDescription(container: Container): Description {
  const description = parse(structuredClone(container)) as Description;
  checkLimits(description.limits);
  checkAddresses(description);
  checkSocket(description);
  checkFiles(description);
  const places = [...description.writable, ...description.mounts.map(({ at }) => at)];
  const outside = description.mounts.find(({ below }) => below?.split('/').some(leadsElsewhere));
  if (outside)
    throw new Problem('invalid-request', `${outside.below} is not inside of what is to be mounted at ${outside.at}; name a folder of it.`);
  const bad =
    places.find(
      (at) => at.split('/').some(leadsElsewhere) || taken.some((its) => at === its || (its !== '/etc' && at.startsWith(`${its}/`))),
    ) ?? places.find((at, index) => places.indexOf(at) !== index);
  if (bad !== undefined)
    throw new Problem('invalid-request', `Nothing can be mounted at ${bad} in ${container.name}: it is taken; choose another folder.`);
  return description;
}

/** Linux's own limit, without the NUL at the end. */
const socketBytesMax = 107;

/** The socket must be directly in a writable folder: then the container can change only the socket itself, and no part of the path to it. */
function checkSocket({ name, socket, writable, probe }: Description) {
  if (socket === undefined && probe?.kind !== 'socket') return;
  if (socket !== undefined && folderOf(writable, socket) !== undefined && Buffer.byteLength(socket) <= socketBytesMax) return;
  throw new Problem(
    'invalid-request',
    `${name} can listen on a socket directly in a folder that it can write to, with a path of ${socketBytesMax} bytes at most; not at ${socket}.`,
  );
}

/** Files that a container is given to read must be directly in a writable folder, too. */
function checkFiles({ name, files = {}, peer, writable }: Description) {
  const bad = [...Object.keys(files), ...(peer ? [peer.at] : [])].find((path) => folderOf(writable, path) === undefined);
  if (bad !== undefined)
    throw new Problem('invalid-request', `${name} can have files directly in a folder that it can write to; not ${bad}.`);
}

/** The number of the folder of `writable` that directly holds the path. */
export function folderOf(writable: readonly string[], path: string): number | undefined {
  const index = leadsElsewhere(basename(path)) ? -1 : writable.indexOf(dirname(path));
  return index === -1 ? undefined : index;
}

/** Refuses what has the shape of an address and is none: nft reads all rules or none, so one bad address would make it refuse all others. */
export function checkAddresses({ name, hosts, outbound }: Pick<Description, 'name' | 'hosts' | 'outbound'>) {
  const ranges = (outbound ?? []).flatMap(({ ips }) => ips);
  const bad = Object.values(hosts ?? {}).find((address) => isIP(address) === 0) ?? ranges.find((range) => !isRange(range));
  if (bad !== undefined) throw new Problem('invalid-request', `${bad}, which ${name} is to know or reach, is not an IP address.`);
}

function isRange(range: string): boolean {
  const [address = '', bits = '0'] = range.split('/');
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

export function checkLimits(limits: Limits) {
  for (const [limit, least] of Object.entries(limitsMin) as [keyof Limits, number][]) {
    if (limits[limit] < least)
      throw new Problem(
        'invalid-request',
        `The limit ${limit} of ${limits[limit]} is too low to start anything; give it at least ${least}.`,
      );
  }
}

/** A hash of all that cannot be changed in place. */
export function hashOf(description: Description): string {
  return createHash('sha256')
    .update(JSON.stringify({ ...description, limits: undefined, outbound: undefined, ...filePaths(description) }, sortedFields))
    .digest('hex');
}

const filePaths = ({ files }: Description) => files && { files: Object.keys(files).sort() };

const sortedFields = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

const fileOf = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'container.json');

export function writeDescription(folders: RuntimeFolders, description: Description) {
  mkdirSync(durableOf(folders, description.name), { recursive: true, mode: 0o700 });
  writeWhole(fileOf(folders, description.name), JSON.stringify(description));
}

/** Undefined: there is no such container. */
export function readDescription(folders: RuntimeFolders, name: string): Description | undefined {
  const stored = readText(fileOf(folders, name));
  const content = stored === undefined ? undefined : contentOf(stored);
  return content === undefined ? undefined : (parse(content) as Description);
}

/** Undefined: the power failed before the text was on the disk. Nothing of that container runs any more, and whoever wants it describes it anew. */
function contentOf(stored: string): unknown {
  try {
    return JSON.parse(stored) as unknown;
  } catch {
    return undefined;
  }
}

export function foundDescription(folders: RuntimeFolders, name: string): Description {
  const description = readDescription(folders, name);
  if (description) return description;
  throw new Problem('not-found', `There is no container ${name}.`);
}
