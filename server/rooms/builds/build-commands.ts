/**
 * The commands of a build, in their order: tools that the application asks for, then what its flavor does, then its hook. Tools go into the slug,
 * into a folder of their own, and are found there at build and later.
 */
import { nameOfType, runtimeOfType, versionOfType } from '../../catalogue/catalogue.ts';
import { Problem } from '../../kernel/problem.ts';
import { titleOf, type Buildable } from './buildable.ts';
import type { App, Json, PhpRuntime } from './config/model.ts';

export const appFolder = '/app';
export const cacheFolder = '/mnt/cache';
const toolsFolder = `${appFolder}/.global`;
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface BuildCommand {
  /** Lines for the log before the command runs, at the indentation of a step or of a line. */
  announce: { step?: string; line?: string };
  /** How the sentence that says that the command failed calls it. */
  what: string;
  argv: readonly [string, ...string[]];
}

/** Where tools keep what they download, so that the next build finds it and the slug does not carry it. */
export const cacheVariables: Readonly<Record<string, string>> = {
  npm_config_cache: `${cacheFolder}/npm`,
  YARN_CACHE_FOLDER: `${cacheFolder}/yarn`,
  BUN_INSTALL_CACHE_DIR: `${cacheFolder}/bun`,
  COMPOSER_CACHE_DIR: `${cacheFolder}/composer`,
  PIP_CACHE_DIR: `${cacheFolder}/pip`,
  GOCACHE: `${cacheFolder}/go-build`,
  GOMODCACHE: `${cacheFolder}/go-modules`,
  UV_CACHE_DIR: `${cacheFolder}/uv`,
  // The cache is on another volume, where links do not lead.
  UV_LINK_MODE: 'copy',
  CARGO_HOME: `${cacheFolder}/cargo`,
  // Programs that `cargo install` makes are part of the app.
  CARGO_INSTALL_ROOT: `${appFolder}/.cargo`,
  // Not MAVEN_ARGS, which Maven of Debian 12 does not know.
  MAVEN_OPTS: `-Dmaven.repo.local=${cacheFolder}/maven`,
  npm_config_update_notifier: 'false',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
};

/** Variables that containers of the slug need, too, so that they find the tools that its build installed and load the extensions that it chose. */
export function toolVariables(
  { type, dependencies, runtime }: Pick<App, 'type' | 'dependencies' | 'runtime'>,
  path = usualPath,
): Record<string, string> {
  const languages = [nameOfType(type), ...Object.keys(dependencies)];
  const gems = `${toolsFolder}/gems`;
  return {
    PATH: [`${toolsFolder}/bin`, ...(languages.includes('ruby') ? [`${gems}/bin`] : []), path].join(':'),
    ...(languages.some((language) => language.startsWith('python')) && { PYTHONUSERBASE: toolsFolder, PIP_BREAK_SYSTEM_PACKAGES: '1' }),
    ...(languages.includes('ruby') && { GEM_HOME: gems }),
    ...(isPhp(runtime) && runtimeOfType(type)?.extensions?.(versionOfType(type)).env(runtime)),
  };
}

const isPhp = (runtime: App['runtime']): runtime is PhpRuntime => 'extensions' in runtime;

/** `has` tells whether there is such a file at the root of the application. */
export function buildCommands(app: Buildable, has: (file: string) => boolean): BuildCommand[] {
  return [...dependencyCommands(app), ...flavorCommands(app, has), ...hookCommands(app)];
}

type Packages = readonly (readonly [name: string, constraint: Json])[];

/** The commands that install packages, by language. */
const installers: Record<string, (packages: Packages) => (readonly [string, ...string[]])[]> = {
  nodejs: (packages) => [
    [
      'npm',
      'install',
      '--global',
      '--no-fund',
      '--no-audit',
      `--prefix=${toolsFolder}`,
      '--',
      ...packages.map(([name, wanted]) => `${name}@${textOf(wanted)}`),
    ],
  ],
  python3: (packages) => [
    ['pip3', 'install', '--user', '--no-warn-script-location', '--disable-pip-version-check', '--', ...packages.map(pythonRequirement)],
  ],
  ruby: (packages) =>
    packages.map(([name, wanted]) => [
      ...(['gem', 'install', '--no-document', '--bindir', `${toolsFolder}/bin`, '--version', gemVersion(wanted), name] as const),
    ]),
  php: (packages) => [
    ['dash', '-c', composerScript, 'dash', `${toolsFolder}/php`, composerFile(packages)],
    ['composer', '--no-ansi', '--no-interaction', 'install', '--no-progress', `--working-dir=${toolsFolder}/php`],
  ],
};
const sameAs: Record<string, string> = { python: 'python3' };

const composerScript = 'mkdir -p "$1" && printf %s "$2" >"$1/composer.json"';

/** A composer.json made of packages by name, or of the sections that the configuration gives. */
function composerFile(packages: Packages): string {
  const given = Object.fromEntries(packages);
  const told = requiredOf(given) ? given : { require: given };
  return JSON.stringify({ ...told, config: { 'bin-dir': `${toolsFolder}/bin` } });
}

const requiredOf = ({ require }: Record<string, Json>): Record<string, Json> | undefined =>
  typeof require === 'object' && require !== null && !Array.isArray(require) ? require : undefined;

const anyVersion = new Set(['', '*', 'latest']);
const pythonRequirement = ([name, wanted]: Packages[number]) => {
  const version = textOf(wanted);
  if (anyVersion.has(version)) return name;
  return /^[0-9]/.test(version) ? `${name}==${version}` : `${name}${version}`;
};
const gemVersion = (wanted: Json) => (anyVersion.has(textOf(wanted)) ? '>= 0' : textOf(wanted));
const textOf = (value: Json) => (value === null ? '*' : typeof value === 'string' ? value : JSON.stringify(value));

/** Names of packages are passed as arguments, so they must not look like options. */
const packageName = /^[A-Za-z0-9@][A-Za-z0-9@._/[\],+-]*$/;

function dependencyCommands(app: Buildable): BuildCommand[] {
  const wanted = Object.entries(app.dependencies).filter(([, packages]) => Object.keys(packages).length > 0);
  return wanted.flatMap(([language, packages], first) => {
    const install = installers[sameAs[language] ?? language];
    if (!install)
      throw new Problem(
        'invalid-request',
        `Unable to build ${titleOf(app)}: ${language} dependencies are not supported here; choose from ${Object.keys(installers).join(', ')}.`,
      );
    const names = Object.keys((language === 'php' && requiredOf(packages)) || packages);
    const bad = names.find((name) => !packageName.test(name));
    if (bad !== undefined)
      throw new Problem('invalid-request', `Unable to build ${titleOf(app)}: ${JSON.stringify(bad)} is not the name of a package.`);
    return install(Object.entries(packages)).map((argv, second) => ({
      announce: {
        ...(first === 0 && second === 0 && { step: 'Installing build dependencies...' }),
        ...(second === 0 && { line: `Installing ${language} build dependencies: ${names.join(', ')}` }),
      },
      what: `the installation of ${language} dependencies`,
      argv,
    }));
  });
}

function flavorCommands({ type, build }: Buildable, has: (file: string) => boolean): BuildCommand[] {
  const flavor = runtimeOfType(type)?.flavor;
  if (!flavor || flavor.name !== build.flavor || !has(flavor.file)) return [];
  const step = `Found a \`${flavor.file}\`, installing dependencies.`;
  return [{ announce: { step }, what: 'the installation of its dependencies', argv: ['dash', '-c', flavor.script] }];
}

/** The most that the kernel takes as one argument or one variable, with the NUL at its end. */
export const wordBytesMax = 128 * 1024;

function hookCommands(app: Buildable): BuildCommand[] {
  const { hooks } = app;
  if (hooks.build === null || hooks.build.trim() === '') return [];
  if (Buffer.byteLength(hooks.build) >= wordBytesMax)
    throw new Problem(
      'invalid-request',
      `Unable to build ${titleOf(app)}: its build hook is longer than ${wordBytesMax / 1024} KiB; put it into a file.`,
    );
  return [{ announce: { step: 'Executing build hook...' }, what: 'the build hook', argv: ['dash', '-c', hooks.build] }];
}
