/** An app from its sources: what its Dockerfile says, and where that says nothing, what its files let guess. */
import { imagesOf } from '../../server/rooms/builds/config/images.ts';
import { catalogue, nameOfType } from '../../server/catalogue/catalogue.ts';
import { recognisers, type Recognised } from '../../server/rooms/builds/config/recognise.ts';
import type { SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import type { Dockerfile } from './dockerfile.ts';
import type { AppDraft } from './draft.ts';
import { offeredType } from './offered.ts';

const everything = { '/': { passthru: true } };

/** How a language's tools are kept inside the app's folder, which is all of a build that stays. */
const manners: Readonly<Record<string, { before?: readonly string[]; start?: (command: string) => string; installs?: RegExp }>> = {
  nodejs: { installs: /^(?:npm (?:ci|install|i)|yarn(?: install)?|pnpm (?:install|i))\b/ },
  python: {
    before: ['python3 -m venv .venv', '. .venv/bin/activate'],
    start: (command) => `. .venv/bin/activate && exec ${command}`,
    installs: /\b(?:pip3?|poetry|uv) (?:install|sync|pip)\b/,
  },
  ruby: { before: ['bundle config set --local path vendor/bundle'] },
};

export interface Guess extends Recognised {
  name: string;
}

/** What the files in a folder let guess: of one language, or of any. */
export async function guessFrom(tree: SourceTree, language?: string): Promise<Guess | undefined> {
  const names = new Set((await tree.list('')).map(({ path }) => path));
  for (const { name, recognise } of recognisers) {
    if (language !== undefined && name !== language) continue;
    const versions = imagesOf(catalogue).flatMap(({ type, isDeprecated }) =>
      nameOfType(type) === name && !isDeprecated ? [type.slice(name.length + 1)] : [],
    );
    const found = versions.length > 0 ? await recognise({ tree, names, versions }) : undefined;
    if (found) return { ...found, name };
  }
  return undefined;
}

export interface AppOfSource {
  app: AppDraft;
  remarks: string[];
  losses: string[];
}

/** Undefined where neither says what it is written in, or where there is no type for it. */
export async function appOfSource(
  tree: SourceTree,
  dockerfile: Dockerfile | undefined,
  command?: string,
): Promise<AppOfSource | undefined> {
  const language = dockerfile?.language;
  const guess = await guessFrom(tree, language?.known?.name);
  const name = language?.known?.name ?? guess?.name;
  const offered = name === undefined ? undefined : offeredType(name, language?.version ?? guess?.version);
  if (name === undefined || !offered) return undefined;
  if (dockerfile?.servesFilesOf) return servedFiles(tree, dockerfile);
  const manner = manners[name] ?? {};
  const steps = dockerfile?.build ?? [];
  const isSaid = steps.length > 0 && (manner.installs === undefined || steps.some((step) => manner.installs?.test(step)));
  const build = isSaid ? ['set -e', ...(manner.before ?? []), ...steps].map((line) => `${line}\n`).join('') : guess?.hooks?.build;
  const said = command ?? dockerfile?.start;
  const start = said === undefined ? guess?.web.commands?.start : (manner.start ?? ((text) => text))(said);
  const isPhp = name === 'php';
  const web = {
    ...(!isPhp && start !== undefined && { commands: { start } }),
    locations: guess && said === undefined ? guess.web.locations : everything,
  };
  return {
    app: {
      type: offered.type,
      ...(isSaid && name === 'nodejs' && { build: { flavor: 'none' } }),
      ...(!isSaid && guess?.build && { build: guess.build }),
      ...(build !== undefined && { hooks: { build } }),
      web: isPhp && guess ? { locations: guess.web.locations } : web,
    },
    remarks: [
      ...(offered.instead === undefined ? [] : [offered.instead]),
      ...(isSaid || !guess ? [] : [`How it is built${said === undefined ? ' and started' : ''} was guessed from ${guess.because}.`]),
    ],
    losses: [
      ...(isPhp && said !== undefined ? [`carried over: the command "${said}"; PHP is served by PHP-FPM here.`] : []),
      ...(steps.length > 0 && !isSaid ? [`carried over: ${steps.map((step) => `"${step}"`).join(', ')} of its Dockerfile.`] : []),
    ],
  };
}

/** Pages that are built and then only served: the program that builds them runs here, too, and its files are served without another one. */
async function servedFiles(tree: SourceTree, { language, servesFilesOf, build }: Dockerfile): Promise<AppOfSource | undefined> {
  const guess = await guessFrom(tree);
  const name = language?.known?.name === 'static' ? (guess?.name ?? 'static') : (language?.known?.name ?? 'static');
  const offered = offeredType(name, guess?.version);
  if (!offered) return undefined;
  const steps = ['set -e', ...build].map((line) => `${line}\n`).join('');
  const location = { root: servesFilesOf?.folder ?? '', index: ['index.html'], passthru: '/index.html' };
  return {
    app: {
      type: offered.type,
      ...(name === 'nodejs' && { build: { flavor: 'none' } }),
      ...(build.length > 0 && { hooks: { build: steps } }),
      web: { locations: { '/': location } },
    },
    remarks: ['Its server only served files, which the platform does by itself.'],
    losses: ['carried over: the configuration of that server, if it had one; see web.locations and routes.'],
  };
}
