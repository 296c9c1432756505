/**
 * One layer of an image that somebody else made, from its archive into a folder as overlayfs wants it. The archive may be hostile: it is unpacked by a user
 * who owns nothing else on the machine and cannot make devices, within limits, and what it contains must be what the image's configuration says.
 *
 * Whose the files are is not kept: inside containers the files of images belong to nobody. All of them can be read there, and none gives its caller another
 * user's rights.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Problem } from '../../../kernel/problem.ts';
import { runPlain } from '../build-command.ts';

export const layerLimits = { bytesMax: 8 * 1024 ** 3, filesMax: 1_000_000, secondsMax: 1800 };
export type LayerLimits = typeof layerLimits;

/** Nobody on the machine, and nobody in a container. */
const unpackingUser = 0x0fff0000;

const decompressors: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = { gzip: createGunzip, zstd: createZstdDecompress };

/** `…tar`, `…tar+gzip`, and `…tar.gzip` as Docker writes it. */
function compressionOf(mediaType: string, name: string): string | undefined {
  const [, compression] = /\btar(?:[.+](\w+))?$/.exec(mediaType) ?? [];
  if (!/\btar(?:[.+](?:gzip|zstd))?$/.test(mediaType))
    throw new Problem(
      'invalid-request',
      `${name} has a layer of the kind ${JSON.stringify(mediaType.slice(0, shownMax))}, which cannot be unpacked here.`,
    );
  return compression;
}
const shownMax = 100;
const lastCharactersMax = 400;

export interface LayerArchive {
  /** Of the image, for sentences. */
  name: string;
  mediaType: string;
  /** Of the archive without its compression. */
  diffId: string;
  read: (signal: AbortSignal) => Promise<Readable>;
}

/** Makes `root` in the folder. `arrived` hears how many bytes came in. Answers how many there are without compression, and how many files. */
export async function unpackLayer(
  { name, mediaType, diffId, read }: LayerArchive,
  folder: string,
  signal: AbortSignal,
  arrived: (bytes: number) => void = () => {},
  limits: LayerLimits = layerLimits,
): Promise<UnpackedSize> {
  const compression = compressionOf(mediaType, name);
  const decompress = compression === undefined ? undefined : decompressors[compression]?.();
  const root = join(folder, 'root');
  mkdirSync(root, { mode: 0o755 });
  chownSync(root, unpackingUser, unpackingUser);
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal, AbortSignal.timeout(limits.secondsMax * 1000)]);
  const hash = createHash('sha256');
  let bytes = 0;
  const checked = passing((chunk) => {
    bytes += chunk.length;
    hash.update(chunk);
    if (bytes > limits.bytesMax) throw tooMuch(name, `${layerLimits.bytesMax / 1024 ** 3} GiB`);
  });
  const source = await read(either);
  const tar = startTar(root, name, limits, stop, either);
  const parts = [source, passing((chunk) => arrived(chunk.length)), ...(decompress ? [decompress] : []), checked, tar.stdin];
  try {
    await pipeline(parts as [Readable, ...Transform[]], { signal: either }).catch((error: NodeJS.ErrnoException) => {
      // Tar stops reading when it fails, which says more than that nobody reads; and at the archive's end, while zeros may follow.
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    });
    await tar.ended;
    stop.signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error instanceof Problem ? error : cannot(name, (error as Error).message);
  }
  if (`sha256:${hash.digest('hex')}` !== diffId)
    throw new Problem(
      'unavailable',
      `A layer of ${name} is not what the image says that it is; it was changed on the way, or the registry is broken.`,
    );
  await finish(folder, root, name, signal);
  return { bytes, files: tar.files() };
}

export interface UnpackedSize {
  bytes: number;
  files: number;
}

/** What the layers of one image may have together, of which each takes its part. */
export function imageLimits(): { left(): LayerLimits; take(size: UnpackedSize): void } {
  let { bytesMax, filesMax } = layerLimits;
  return {
    left: () => ({ ...layerLimits, bytesMax, filesMax }),
    take: ({ bytes, files }) => {
      bytesMax -= bytes;
      filesMax -= files;
    },
  };
}

const tooMuch = (name: string, what: string) => new Problem('too-large', `${name} has more than ${what}; make the image smaller.`);
const cannot = (name: string, why: string) => new Problem('invalid-request', `A layer of ${name} cannot be unpacked: ${why}`);

const passing = (look: (chunk: Buffer) => void) =>
  new Transform({
    transform(chunk: Buffer, _, done) {
      try {
        look(chunk);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });

const asNobody = [
  '--pdeathsig',
  'KILL',
  '--reuid',
  String(unpackingUser),
  '--regid',
  String(unpackingUser),
  '--clear-groups',
  '--no-new-privs',
];
// What images have in /dev is of no use: containers get their own.
const unpacking = [
  '--extract',
  '--file=-',
  '--no-same-owner',
  '--delay-directory-restore',
  '--anchored',
  '--exclude=dev/*',
  '--exclude=./dev/*',
];

/** Archives that name a file again and again, or paths that lead out, are tar's to refuse; it says so, and ends with an error. */
function startTar(root: string, name: string, { filesMax }: LayerLimits, stop: AbortController, signal: AbortSignal) {
  // Twice: then it also names the folders that it makes on the way to a file.
  const said = ['--verbose', '--verbose', '--warning=no-timestamp', '--quoting-style=escape'];
  const child = spawn('setpriv', [...asNobody, 'tar', ...unpacking, ...said], { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
  let [files, last] = [0, ''];
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === newline) files += 1;
    if (files > filesMax) stop.abort(tooMuch(name, `${layerLimits.filesMax} files`));
  });
  child.stderr.on('data', (chunk: Buffer) => (last = `${last}${chunk.toString()}`.slice(-lastCharactersMax)));
  child.stdin.on('error', () => {});
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', kill);
      if (code === 0) resolve();
      else reject(cannot(name, last.trim()));
    });
  });
  ended.catch(() => {});
  return { stdin: child.stdin, ended, files: () => files };
}
const newline = 0x0a;

/** Whoever calls a file of a layer has their own rights and no others; and what one layer takes away from those below it is written as overlayfs reads it. */
async function finish(folder: string, root: string, name: string, signal: AbortSignal) {
  const said: string[] = [];
  const run = (...argv: string[]) => runPlain(argv, folder, (line) => said.push(line), signal);
  try {
    await run('chown', '--recursive', '--no-dereference', '0:0', '--', root);
    await run('chmod', '--recursive', 'u+rwX,go+rX,go-w,a-s,-t', '--', root);
    await run('find', root, '-xdev', '(', '-type', 'p', '-o', '-type', 's', ')', '-delete');
    await run('perl', join(import.meta.dirname, 'whiteouts.pl'), process.arch, root);
  } catch (error) {
    signal.throwIfAborted();
    throw cannot(name, said.at(-1) ?? (error as Error).message);
  }
}
