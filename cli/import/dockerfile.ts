/** What a Dockerfile says, as far as it can be said otherwise: which language, how it is built, how it is started. */
import { readImage, type ImageName } from './known-images.ts';
import { literally, shellWords } from './shell.ts';

export interface Dockerfile {
  /** What the program is written in: the image of the last stage, or of the one that the result is copied from. */
  language?: ImageName;
  /** The last stage only serves files that another one made. */
  servesFilesOf?: { folder: string };
  workingFolder: string;
  env: Record<string, string>;
  /** Variables that are set only once the program is made: how it is made may depend on their absence. */
  lateEnv: Record<string, string>;
  /** Commands that make the program. */
  build: string[];
  /** Commands that change the system around it. */
  system: string[];
  start?: string;
  port?: string;
  volumes: string[];
  /** Instructions that are not told by any of the above: `HEALTHCHECK`. */
  others: string[];
}

interface Stage {
  name?: string;
  from: string;
  lines: Instruction[];
}

interface Instruction {
  name: string;
  rest: string;
}

const copyFrom = /^--from=(\S+)\s+(?:--\S+\s+)*(.*)$/;

export function readDockerfile(text: string, target?: string): Dockerfile {
  const stages = stagesOf(instructionsOf(text));
  const last = stages.find(({ name }) => target !== undefined && name === target) ?? stages.at(-1) ?? { from: 'scratch', lines: [] };
  const chain = chainOf(stages, last);
  const ownImage = readImage(chain.at(-1)?.from ?? '');
  const copies = last.lines.flatMap(({ name, rest }) =>
    name === 'COPY' ? (copyFrom.exec(rest.replace(/^(?:--(?!from)\S+\s+)*/, '')) ?? []) : [],
  );
  const maker = stages.find((stage, index) => stage !== last && (stage.name === copies[1] || String(index) === copies[1]));
  const makers = maker ? chainOf(stages, maker) : [];
  const makerImage = readImage(makers.at(-1)?.from ?? '');
  const isServer = ownImage.known?.name === 'static';
  const language = isServer || !ownImage.known ? (maker ? makerImage : ownImage) : ownImage;
  const all = [...makers, ...chain.filter((stage) => !makers.includes(stage))].toReversed();

  const found: Dockerfile = { workingFolder: '/app', env: {}, lateEnv: {}, build: [], system: [], volumes: [], others: [] };
  if (language.known?.kind === 'runtime' && language.known.name !== 'static') found.language = language;
  else if (isServer) found.language = ownImage;
  for (const stage of orderOf(makers, chain, all)) for (const instruction of stage.lines) take(found, instruction);
  if (maker) found.start &&= withPathsOf(found.start, last, maker);
  const [, , paths = ''] = copies;
  if (isServer && maker) found.servesFilesOf = { folder: insideOf(workingFolderOf(makers), paths.split(/\s+/)[0] ?? '') };
  return found;
}

/** Whoever makes the program comes first; what a stage is built on comes before it. */
const orderOf = (makers: readonly Stage[], chain: readonly Stage[], all: readonly Stage[]) =>
  all.length === 0 ? [] : [...makers.toReversed(), ...chain.toReversed().filter((stage) => !makers.includes(stage))];

function instructionsOf(text: string): Instruction[] {
  const joined = text.replaceAll(/^\s*#.*$/gm, '').replaceAll(/\\\s*\n\s*/g, ' ');
  const defaults = new Map<string, string>();
  return joined.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^\s*([A-Za-z]+)\s+(.*?)\s*$/.exec(line) ?? [];
    const instruction = { name: name.toUpperCase(), rest: withDefaults(rest, defaults) };
    const [, argument, value] = instruction.name === 'ARG' ? (/^(\w+)=(.*)$/.exec(rest) ?? []) : [];
    if (argument !== undefined) defaults.set(argument, (value ?? '').replaceAll(/^["']|["']$/g, ''));
    return name === '' ? [] : [instruction];
  });
}

const withDefaults = (text: string, defaults: ReadonlyMap<string, string>) =>
  text.replaceAll(/\$\{?(\w+)\}?/g, (whole, name: string) => defaults.get(name) ?? whole);

function stagesOf(instructions: readonly Instruction[]): Stage[] {
  const stages: Stage[] = [];
  for (const { name, rest } of instructions) {
    if (name !== 'FROM') stages.at(-1)?.lines.push({ name, rest });
    else {
      const [from = '', , as] = rest.replace(/^(?:--\S+\s+)*/, '').split(/\s+/);
      stages.push({ from, lines: [], ...(as !== undefined && { name: as }) });
    }
  }
  return stages;
}

/** A stage, and those that it stands on. */
function chainOf(stages: readonly Stage[], stage: Stage): Stage[] {
  const chain = [stage];
  for (let under = named(stages, stage.from); under && !chain.includes(under); under = named(stages, under.from)) chain.push(under);
  return chain;
}

const named = (stages: readonly Stage[], name: string) => stages.find((stage) => stage.name === name);

const workingFolderOf = (chain: readonly Stage[]) =>
  chain.flatMap(({ lines }) => lines.filter(({ name }) => name === 'WORKDIR').map(({ rest }) => rest))[0] ?? '/app';

function take(found: Dockerfile, { name, rest }: Instruction) {
  switch (name) {
    case 'WORKDIR':
      found.workingFolder = rest;
      break;
    case 'ENV':
      Object.assign(found.lateEnv, environmentOf(rest));
      break;
    case 'RUN':
      for (const command of commandsOf(rest)) (isOfSystem(command) ? found.system : found.build).push(command);
      found.env = { ...found.env, ...found.lateEnv };
      found.lateEnv = {};
      break;
    case 'EXPOSE':
      found.port ??= /\d+/.exec(rest)?.[0] ?? '';
      break;
    case 'VOLUME':
      found.volumes.push(...wordsOf(rest));
      break;
    case 'ENTRYPOINT':
    case 'CMD':
      found.start =
        name === 'CMD' && found.start !== undefined && rest.startsWith('[') ? `${found.start} ${commandOf(rest)}` : commandOf(rest);
      break;
    case 'ARG':
    case 'COPY':
    case 'ADD':
    case 'LABEL':
    case 'MAINTAINER':
    case 'SHELL':
      break;
    default:
      found.others.push(name);
  }
}

function environmentOf(rest: string): Record<string, string> {
  if (!/^\w+=/.test(rest)) return { [rest.split(/\s+/, 1)[0] ?? '']: rest.replace(/^\S+\s+/, '') };
  return Object.fromEntries(
    [...rest.matchAll(/(\w+)=("[^"]*"|'[^']*'|\S*)/g)].map(([, key = '', value = '']) => [key, value.replaceAll(/^["']|["']$/g, '')]),
  );
}

const wordsOf = (rest: string): string[] => {
  const list: unknown = rest.startsWith('[') ? tryJson(rest) : undefined;
  return Array.isArray(list) ? list.map(String) : rest.split(/\s+/);
};

/** Of the exec form, `["node", "server.js"]`, or of the shell form. */
export const commandOf = (rest: string): string => (rest.startsWith('[') && tryJson(rest) !== undefined ? shellWords(wordsOf(rest)) : rest);

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One RUN mostly has several commands; each is judged by itself. */
const commandsOf = (rest: string): string[] =>
  rest
    .replace(/^(?:--\S+\s+)*/, '')
    .split(/\s*&&\s*|\s*;\s*(?=\S)/)
    .map((command) => command.trim())
    .filter((command) => command !== '' && !/^(?:set -|rm -rf \/(?:var|tmp|root))/.test(command));

/** Images of apps are the platform's: nothing outside the app's folder can be changed while it is built. */
const systemCommands =
  /^(?:sudo\s+)?(?:apt-get|apt|apk|yum|dnf|adduser|useradd|addgroup|groupadd|usermod|chown|chmod|docker-php-ext-\S+|pecl|a2enmod|corepack|ln|update-\S+|locale-gen|mkdir(?:\s+-p)?\s+\/|(?:npm|yarn|pnpm)\s+(?:install|i|add|global)\s+(?:-g|--global|add)\b|pip3?\s+install\s+(?:--upgrade|-U)\s+pip\b)/;
const isOfSystem = (command: string) => systemCommands.test(command);

/** A program that was copied out of the stage that made it is started from where it was made. */
function withPathsOf(start: string, last: Stage, maker: Stage): string {
  const makersFolder = workingFolderOf([maker]);
  const ownFolder = workingFolderOf([last]);
  let text = start;
  for (const { name, rest } of last.lines) {
    const [, from, paths = ''] = name === 'COPY' ? (copyFrom.exec(rest) ?? []) : [];
    const [source = '', destination = ''] = paths.split(/\s+/);
    if (from === undefined || destination === '') continue;
    const made = insideOf(makersFolder, source);
    const copied =
      destination.endsWith('/') || destination === '.'
        ? `${destination.replace(/^\.?\/?$/, '')}${source.split('/').at(-1) ?? ''}`
        : destination;
    for (const spelled of new Set([copied, insideOf(ownFolder, copied), `./${insideOf(ownFolder, copied)}`]))
      text = text.replaceAll(new RegExp(`(?<![\\w./-])${literally(spelled)}(?![\\w./-])`, 'g'), made.includes('/') ? made : `./${made}`);
  }
  return text;
}

/** `/src/target/app.jar` is `target/app.jar` inside of `/src`. */
export function insideOf(folder: string, path: string): string {
  const prefix = `${folder.replace(/\/$/, '')}/`;
  const inner = path.startsWith(prefix) ? path.slice(prefix.length) : path.replace(/^\.\//, '');
  return inner.replace(/\/$/, '');
}
