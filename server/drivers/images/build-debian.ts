/** Layers of Debian: its smallest system by mmdebstrap, and packages on top by apt in an overlay, of which the upper folder is the layer. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Problem } from '../../kernel/problem.ts';
import { runConfined, runPlain, type Say } from './build-command.ts';
import { ownPackages, packagesIn } from './debian-packages.ts';
import type { Packages } from './layer-cache.ts';
import type { DebianBase, DebianPackages } from './recipe.ts';

export interface Building {
  /** A scratch folder beside the layers; `root` in it becomes the layer. */
  folder: string;
  /** Root folders of the layers below, relative to the folder of all layers, lowest first. */
  below: readonly string[];
  say: Say;
  /** How far it is, from 0 to 1. */
  progress: (part: number) => void;
  signal: AbortSignal;
  /** The command that build programs are run with, such as `nice`. */
  within?: readonly string[];
  /** Lines as of sources.list, in the place of the mirrors that this machine uses. */
  sources?: readonly string[];
  /** Certificate authorities that this machine trusts beyond the public ones, as PEM. */
  authorities?: readonly string[];
}

/** The folder of all layers, in which programs that build one run. */
export const layersBeside = ({ folder }: Pick<Building, 'folder'>) => dirname(folder);
/** The layers below as overlayfs wants them: the topmost first. */
export const lowerFolders = ({ below }: Pick<Building, 'below'>) => below.toReversed().join(':');

/** Lists and downloads of a release, seen from the folder of all layers: builds of one release share them, and builds of others have their own. */
export const aptFolder = (suite: string) => `../apt/${suite}`;

export const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const settingsMillisecondsMax = 30_000;
const programs = ['mmdebstrap', 'apt-get', 'unshare', 'setpriv'];
const run = promisify(execFile);

/** Manuals, translations and documents are of no use in a container; licences stay. */
const leftOut = ['/usr/share/man/*', '/usr/share/info/*', '/usr/share/locale/*', '/usr/share/doc/*', '/usr/share/lintian/*'];
const dpkgSettings = [
  'force-unsafe-io',
  'force-confnew',
  ...leftOut.map((path) => `path-exclude=${path}`),
  'path-include=/usr/share/doc/*/copyright',
];

export async function buildDebianBase(recipe: DebianBase, building: Building): Promise<Packages> {
  const { folder, say, progress, signal, within = [] } = building;
  await requirePrograms();
  const phases = ['apt-get update', 'downloading', 'extracting', 'installing', 'cleaning', 'success'];
  const acquire = (await aptSettings()).map((line) => `--aptopt=${line}`);
  for (const name of ['work', 'root']) mkdirSync(join(folder, name), { mode: 0o755 });
  const sources = building.sources ?? (await mirrorLines(recipe.suite));
  await writeAptSettings(join(folder, 'settings'), sources);
  writeFileSync(join(folder, 'settings', 'dpkg.cfg'), linesOf(dpkgSettings));
  await runConfined(
    [
      ...within,
      'sh',
      join(import.meta.dirname, 'build-base.sh'),
      basename(folder),
      aptFolder(recipe.suite),
      '--mode=root',
      '--variant=essential',
      '--format=directory',
      `--architectures=${debianArchitecture()}`,
      `--keyring=${keyring}`,
      '--aptopt=Acquire::Languages "none"',
      '--aptopt=Acquire::Retries "3"',
      ...acquire,
      '--dpkgopt=force-unsafe-io',
      '--include=adduser,ca-certificates,netbase,tzdata',
      // The lists stay for the packages above the base, which would fetch them again.
      '--skip=cleanup/apt/lists',
      recipe.suite,
      '/mnt/root',
      ...sources,
    ],
    layersBeside(building),
    (line) => {
      const phase = phases.findIndex((words) => line.includes(words));
      if (phase >= 0) progress((phase + 1) / phases.length);
      say(line);
    },
    signal,
  );
  await runPlain(['sh', join(import.meta.dirname, 'finish-base.sh'), join(folder, 'root')], folder, say, signal);
  return packagesIn(join(folder, 'root'));
}

export async function buildDebianPackages(recipe: DebianPackages, suite: string, building: Building): Promise<Packages> {
  const { folder, below, say, progress, signal, within = [] } = building;
  await requirePrograms();
  const layers = layersBeside(building);
  for (const name of ['work', 'root']) mkdirSync(join(folder, name), { mode: 0o755 });
  await writeAptSettings(join(folder, 'settings'), building.sources ?? (await mirrorLines(suite)));
  const dpkg = [...dpkgSettings, ...(recipe.without ?? []).map((path) => `path-exclude=${path}`)];
  writeFileSync(join(folder, 'settings', 'dpkg.cfg'), linesOf(dpkg));
  await runConfined(
    [
      ...within,
      'sh',
      join(import.meta.dirname, 'install-packages.sh'),
      basename(folder),
      aptFolder(suite),
      lowerFolders(building),
      debianArchitecture(),
      ...recipe.packages,
    ],
    layers,
    (line) => {
      const status = aptStatus(line);
      if (!status) return say(line);
      progress(status.part);
      say(status.words);
    },
    signal,
  );
  const lower = below.map((path) => join(layers, path));
  const packages = ownPackages(join(folder, 'root'), lower);
  if (recipe.only) keepOnly(folder, recipe.only);
  return packages;
}

const linesOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** Where packages come from, and how, for the scripts that call apt. */
export async function writeAptSettings(folder: string, sources: readonly string[]) {
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, 'sources.list'), linesOf(sources));
  writeFileSync(join(folder, 'apt.conf'), linesOf((await aptSettings()).map((line) => `${line};`)));
}

function keepOnly(folder: string, paths: readonly string[]) {
  const [all, kept] = [join(folder, 'root'), join(folder, 'kept')];
  mkdirSync(kept, { mode: 0o755 });
  for (const path of paths) {
    mkdirSync(dirname(join(kept, path)), { recursive: true, mode: 0o755 });
    renameSync(join(all, path), join(kept, path));
  }
  rmSync(all, { recursive: true });
  renameSync(kept, all);
}

/** `dlstatus:1:20.5:Retrieving file 1 of 4` and `pmstatus:git:53.3:Unpacking git`; a third of the time goes into downloads. */
function aptStatus(line: string) {
  const [, kind, percent, words] = /^(dlstatus|pmstatus):[^:]*(?::[a-z0-9]+)?:([\d.]+):(.*)$/.exec(line) ?? [];
  if (percent === undefined) return undefined;
  const part = Number(percent) / 100;
  return { part: kind === 'dlstatus' ? part / 3 : 1 / 3 + (part * 2) / 3, words: words ?? '' };
}

export function debianArchitecture() {
  const architecture = architectures[process.arch];
  if (!architecture) throw new Problem('unavailable', 'Images can be built on Linux on x64 or arm64 only.');
  return architecture;
}

let hasPrograms = false;

export async function requirePrograms() {
  if (hasPrograms) return;
  if (process.getuid?.() !== 0) throw new Problem('unavailable', 'Images can be built by root only: run Offshoot as root.');
  const missing = [];
  for (const program of programs) {
    const found = await run(program, ['--version'], { timeout: settingsMillisecondsMax }).catch(() => undefined);
    if (!found) missing.push(program);
  }
  if (!existsSync(keyring)) missing.push('debian-archive-keyring');
  if (missing.length > 0)
    throw new Problem(
      'unavailable',
      `Images cannot be built without ${missing.join(', ')}: run apt-get install mmdebstrap debian-archive-keyring.`,
    );
  hasPrograms = true;
}

/** Releases that Debian's security team looks after. Others come from the archive alone: they have neither backports nor updates of their own. */
const released = new Set(['bookworm', 'trixie']);

/** The mirrors that this machine itself uses, where it is a Debian; otherwise those of Debian. */
export async function mirrorLines(suite: string): Promise<string[]> {
  if (!released.has(suite)) return [await archiveLine(suite)];
  const { archive, security } = await mirrors();
  const line = (uri: string, name: string) => `deb [signed-by=${keyring}] ${uri} ${name} main`;
  // Nothing comes from backports unless a recipe asks for it.
  return [
    line(archive, suite),
    line(archive, `${suite}-updates`),
    line(archive, `${suite}-backports`),
    line(security, `${suite}-security`),
  ];
}

/**
 * A suite alone, also one that is not released yet. Those say until when they are valid, and mirrors that keep one moment are behind that; without it
 * they are checked as released ones are, which say nothing.
 */
export async function archiveLine(suite: string): Promise<string> {
  const { archive } = await mirrors();
  return `deb [signed-by=${keyring} check-valid-until=no] ${archive} ${suite} main`;
}

/** Every layer asks for the mirrors, and apt takes half a second to answer. */
const mirrorsMillisecondsMax = 60_000;
let known: { mirrors: ReturnType<typeof findMirrors>; at: number } | undefined;

function mirrors() {
  if (!known || Date.now() - known.at > mirrorsMillisecondsMax) known = { mirrors: findMirrors(), at: Date.now() };
  known.mirrors.catch(() => (known = undefined));
  return known.mirrors;
}

async function findMirrors() {
  const format = '$(LABEL) $(REPO_URI)';
  const targets = ['indextargets', '--format', format, 'Created-By: Packages'];
  const { stdout } = await run('apt-get', targets, { timeout: settingsMillisecondsMax });
  const used = (label: string) =>
    stdout
      .split('\n')
      .find((line) => new RegExp(`^${label} https?://[^\\s\\[\\]]+$`).test(line))
      ?.slice(label.length + 1);
  return {
    archive: used('Debian') ?? 'http://deb.debian.org/debian/',
    security: used('Debian-Security') ?? 'http://deb.debian.org/debian-security/',
  };
}

/** How this machine's apt reaches its mirrors: proxies, certificates, and whether old lists are accepted. */
export async function aptSettings(): Promise<string[]> {
  const { stdout } = await run('apt-config', ['dump'], { timeout: settingsMillisecondsMax });
  const wanted = /^Acquire::((https?|ftp)::(?!User-Agent)|Check-Valid-Until )/i;
  return stdout
    .split('\n')
    .filter((line) => wanted.test(line) && !line.endsWith('"";'))
    .map((line) => line.replace(/;$/, ''));
}
