/**
 * Builds the image of an app from a Dockerfile of its repository, in a container of a build like any other: with the same limits and the same network, and a
 * cache that stays. Inside it the builder is root of a range of users that is nobody on the machine.
 *
 *     <volume>/work          all that the container sees: source, and the result as the builder leaves it; goes when it was read
 *     <volume>/layers/<n>    the layers of the result, which are what the slug is
 *
 * Images that Dockerfiles begin with stay in the project's cache, beside the folders that builds write to; the container only reads them.
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withoutLinks } from '../../drivers/mounts.ts';
import { configIn, manifestIn } from '../../drivers/images/oci/image-documents.ts';
import { imageLimits, unpackLayer } from '../../drivers/images/oci/unpack-layer.ts';
import { layersMax } from '../../drivers/images/oci/resolve-image.ts';
import { CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import { accessTo, slugImage } from './build-image.ts';
import type { AppBuild, BuildParts } from './build-app.ts';
import { titleOf, type Buildable } from './buildable.ts';
import { inBuildContainer, type RunCommand } from './build-container.ts';
import type { BuildOutput } from './build-output.ts';
import type { AppDockerfile } from './config/model.ts';
import { argumentsIn, imagesIn, lineOf, withIds } from './dockerfile-images.ts';
import { layerFolder, type SlugImage } from './slugs.ts';

const script = readFileSync(join(import.meta.dirname, 'build-dockerfile.sh'), 'utf8');
const dockerfileBytesMax = 1024 ** 2;
const imagesMax = 20;
const workFolder = '/app';

export interface DockerfileBuild {
  parts: BuildParts;
  build: AppBuild;
  dockerfile: AppDockerfile;
  /** The volume, by its name and its folder. */
  name: string;
  path: string;
  /** Folder of the project's cache for this app. */
  cache: string;
  /** Of the image with the builder. */
  layers: readonly string[];
}

export async function buildDockerfile(
  making: DockerfileBuild,
  output: BuildOutput,
  ended: (command: { type: 'build'; exit_code: number }) => void,
  signal: AbortSignal,
): Promise<SlugImage> {
  const { parts, build, dockerfile, name, path, cache, layers } = making;
  const work = join(path, 'work');
  await mkdir(join(work, 'source'), { recursive: true });
  await parts.git.checkout(build.repository, build.slug.tree_id, join(work, 'source'), signal);
  const text = await readDockerfile(join(work, 'source'), dockerfile, build.app, signal);
  const { resolved, list } = await fetchImages(making, text, output, signal);
  await writeFile(join(work, 'Dockerfile'), resolved);
  await writeFile(join(work, 'images'), list);
  output.step(`Building its image from ${dockerfile.path}.`);
  const mounts = [
    { from: path, below: 'work', at: workFolder, writable: true },
    { from: imagesBeside(cache), at: '/mnt/images', writable: false },
    { from: cache, at: '/mnt/cache', writable: true },
  ];
  const room = { name, layers, env: build.env, mounts, limits: build.limits, nested: true, writable: ['/run', '/root', '/var/tmp'] };
  await inBuildContainer(parts.runtime, room, signal, (run) => runBuilder(run, making, text, output, ended));
  const image = await unpackResult(making, signal);
  await rm(work, { recursive: true, force: true });
  return image;
}

/** No app is called so. */
const imagesBeside = (cache: string) => join(dirname(cache), '.images');

/** No link is followed on the way. */
async function readDockerfile(source: string, { path }: AppDockerfile, app: Buildable, signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await execute([...dd, 'count=2', `if=${join(source, path)}`], source, signal);
    if (stdout.length > dockerfileBytesMax) throw new CommandFailed(`Unable to build ${titleOf(app)}: ${path} is longer than 1 MiB.`);
    return stdout.toString('utf8');
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(`Unable to build ${titleOf(app)}: there is no file ${path} in its source.`);
  }
}

const run = promisify(execFile);
const execute = (argv: readonly [string, ...string[]], folder: string, signal: AbortSignal) => {
  const [command, ...args] = withoutLinks(folder, argv);
  return run(command, args, { encoding: 'buffer', maxBuffer: 8 * 1024 ** 2, signal, timeout: readMillisecondsMax });
};
const readMillisecondsMax = 60_000;
/** What a build left may be a pipe to which nobody writes: it is not waited for. */
const dd = ['dd', 'status=none', 'iflag=fullblock,nonblock', 'bs=1M'] as const;

/** The file with the images' ids in the place of their names, and a list of their folders and ids for the builder. */
async function fetchImages({ parts, build, dockerfile, cache }: DockerfileBuild, text: string, output: BuildOutput, signal: AbortSignal) {
  const { app, variables } = build;
  const folder = imagesBeside(cache);
  await mkdir(folder, { recursive: true });
  const found = imagesIn(text, dockerfile.args);
  if (found.length > imagesMax)
    throw new CommandFailed(`Unable to build ${titleOf(app)}: ${dockerfile.path} begins with more than ${imagesMax} images.`);
  const ids = new Map<string, string>();
  const lines: string[] = [];
  for (const { written, reference } of found) {
    if (reference === undefined)
      throw new CommandFailed(
        `Unable to build ${titleOf(app)}: ${JSON.stringify(written)} in ${dockerfile.path} is not the name of an image.`,
      );
    output.step(`Fetching the image ${reference}.`);
    try {
      const layout = await parts.images.fetchLayout(reference, accessTo(variables, reference, null), folder, signal);
      output.line(`${layout.reference} is ${layout.digest}`);
      ids.set(written, layout.id);
      lines.push(`${layout.name} ${layout.id}\n`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw new Problem(error.kind, `Unable to build ${titleOf(app)}: ${error.message}`, { cause: error });
    }
  }
  return { resolved: withIds(text, ids), list: lines.join('') };
}

async function runBuilder(
  start: RunCommand,
  { build, dockerfile }: DockerfileBuild,
  text: string,
  output: BuildOutput,
  ended: (command: { type: 'build'; exit_code: number }) => void,
) {
  const declared = argumentsIn(text);
  const told = Object.fromEntries(declared.flatMap((name) => (build.env[name] === undefined ? [] : [[name, build.env[name]]])));
  const args = Object.entries({ ...told, ...dockerfile.args }).map(([name, value]) => `${name}=${value}`);
  let last = '';
  const heard: BuildOutput = {
    ...output,
    follow: (stdout, stderr) => {
      let rest = '';
      stdout.on('data', (chunk: Buffer | string) => {
        const lines = `${rest}${chunk.toString()}`.split('\n');
        rest = (lines.pop() ?? '').slice(0, shownMax);
        for (const line of lines) last = stepIn(line) ?? last;
      });
      return output.follow(stdout, stderr);
    },
  };
  const argv = ['dash', '-c', script, 'build', `${workFolder}/Dockerfile`, dockerfile.target ?? '', ...args] as const;
  const code = await start({ announce: {}, what: 'the Dockerfile', argv }, heard);
  ended({ type: 'build', exit_code: code });
  if (code === 0) return;
  const line = lineOf(text, last);
  const where =
    last === '' ? dockerfile.path : `${line === undefined ? '' : `line ${line} of `}${dockerfile.path} (${last.slice(0, shownMax)})`;
  throw new CommandFailed(`Unable to build ${titleOf(build.app)}: ${where} failed with exit code ${code}.`);
}
const shownMax = 200;
/** `STEP 2/3: RUN make`, and in front of it which stage it belongs to, where there are several. */
const stepIn = (line: string) => /^(?:\[[^\]]*\] )?STEP \d+\/\d+: (.*)$/.exec(line)?.[1];

/** What the container left may be hostile: no link of it is followed, and only what its documents say is taken, whatever else lies there. */
async function unpackResult({ path, build }: DockerfileBuild, signal: AbortSignal): Promise<SlugImage> {
  const image = join(path, 'work/image');
  const read = async (file: string) => (await execute([...dd, 'count=4', `if=${join(image, file)}`], path, signal)).stdout;
  const blob = (digest: string) => `blobs/sha256/${digest.replace(/^sha256:/, '')}`;
  const index = jsonIn((await read('index.json')).toString('utf8'));
  const digest = String(index?.manifests?.[0]?.digest);
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new CommandFailed(`Unable to build ${titleOf(build.app)}: the builder left no image.`);
  const what = `the image of ${titleOf(build.app)}`;
  const manifest = manifestIn(await read(blob(digest)), what);
  const { diffIds, config } = configIn(await read(blob(manifest.config.digest)), what);
  if (diffIds.length !== manifest.layers.length || diffIds.length > layersMax)
    throw new CommandFailed(
      `Unable to build ${titleOf(build.app)}: its image has ${diffIds.length} layers; ${layersMax} are the most that there can be.`,
    );
  const limits = imageLimits();
  for (const [number, layer] of manifest.layers.entries()) {
    const folder = join(path, dirname(layerFolder(number)));
    await mkdir(folder, { recursive: true });
    const [command, ...args] = withoutLinks(path, [...dd, `if=${join(image, blob(layer.digest))}`]);
    const read = async (either: AbortSignal) => {
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], signal: either });
      child.on('error', () => {});
      return child.stdout;
    };
    const archive = { name: what, mediaType: layer.mediaType, diffId: diffIds[number] ?? '', read };
    limits.take(await unpackLayer(archive, folder, signal, undefined, limits.left()));
  }
  return { ...slugImage(build.app, undefined, config, diffIds.length), reference: what, digest };
}

/** Undefined where it is no JSON. */
function jsonIn(text: string): { manifests?: { digest?: unknown }[] } | undefined {
  try {
    return JSON.parse(text) as { manifests?: { digest?: unknown }[] } | undefined;
  } catch {
    return undefined;
  }
}
