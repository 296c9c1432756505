/**
 * A compose file as it was meant: its short and long forms alike, with defaults put in for variables. Values of `.env` may be secret, and what is made here is
 * committed: they are put in only where a type, a folder or a port is looked up.
 */
import { parse } from 'yaml';
import { Problem } from '../../server/kernel/problem.ts';
import { shellWords } from './shell.ts';

export interface ComposeService {
  name: string;
  image?: string;
  build?: { context: string; dockerfile: string; target?: string };
  /** Entry point and command together, for a shell. */
  command?: string;
  workingFolder?: string;
  /** Undefined: the value comes from where the file is used. */
  environment: Map<string, string | undefined>;
  environmentFiles: string[];
  /** The port inside, of those that are published first. */
  port?: string;
  isPublished: boolean;
  volumes: Volume[];
  /** Services that it names as those that it needs. */
  needs: string[];
  /** All other keys. */
  others: string[];
}

export interface Volume {
  /** A path (`./data`) or the name of a volume; undefined for one without a name. */
  from?: string;
  to: string;
}

type Values = Readonly<Record<string, string>>;

const readKeys = new Set(
  ['image build command entrypoint working_dir environment env_file ports expose volumes depends_on links version name'.split(' ')].flat(),
);

export function readCompose(text: string, values: Values): { services: ComposeService[]; others: string[] } {
  let content: unknown;
  try {
    content = parse(text, { merge: true });
  } catch (error) {
    throw new Problem('invalid-request', `The compose file is no YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  const top = mapOf(content);
  const services = Object.entries(mapOf(top['services'])).map(([name, service]) => serviceOf(name, mapOf(service), values));
  if (services.length === 0) throw new Problem('invalid-request', 'The compose file names no services.');
  const others = Object.keys(top).filter((key) => !['services', 'version', 'name', 'volumes'].includes(key) && !key.startsWith('x-'));
  return { services, others };
}

function serviceOf(name: string, written: Record<string, unknown>, values: Values): ComposeService {
  const text = (value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? interpolated(String(value), values) : undefined;
  const image = text(written['image']);
  const build = buildOf(written['build'], text);
  const used = new Set<string>();
  const kept = (value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? withVariables(String(value), used).join('') : undefined;
  const command = [written['entrypoint'], written['command']].flatMap((part) => commandOf(part, used) ?? []).join(' ');
  const workingFolder = kept(written['working_dir']);
  const published = listOf(written['ports']).flatMap((port) => portOf(port, text) ?? []);
  const [port] = [...published, ...listOf(written['expose']).flatMap((one) => /^\d+/.exec(text(one) ?? '')?.[0] ?? [])];
  const volumes = listOf(written['volumes']).flatMap((volume) => volumeOf(volume, kept) ?? []);
  const environment = environmentOf(written['environment']);
  for (const variable of used) if (!environment.has(variable)) environment.set(variable, undefined);
  return {
    name,
    ...(image !== undefined && { image }),
    ...(build && { build }),
    ...(command !== '' && { command }),
    ...(workingFolder !== undefined && { workingFolder }),
    environment,
    environmentFiles: listOf(written['env_file']).flatMap((file) => kept(file) ?? kept(mapOf(file)['path']) ?? []),
    ...(port !== undefined && { port }),
    isPublished: published.length > 0,
    volumes,
    needs: [...namesOf(written['depends_on']), ...listOf(written['links']).map((link) => String(link).split(':', 1)[0] ?? '')],
    others: Object.keys(written).filter((key) => !readKeys.has(key) && !key.startsWith('x-')),
  };
}

type Text = (value: unknown) => string | undefined;

function buildOf(value: unknown, text: Text): ComposeService['build'] {
  if (value === undefined || value === null) return undefined;
  const long = typeof value === 'string' ? { context: value } : mapOf(value);
  const target = text(long['target']);
  return {
    context: text(long['context']) ?? '.',
    dockerfile: text(long['dockerfile']) ?? 'Dockerfile',
    ...(target !== undefined && { target }),
  };
}

function commandOf(value: unknown, used: Set<string>): string | undefined {
  if (Array.isArray(value)) return value.map((word) => shellWord(withVariables(String(word), used))).join(' ');
  return typeof value === 'string' && value.trim() !== ''
    ? withVariables(value, used)
        .join('')
        .replaceAll(/\s*\n\s*/g, ' ')
        .trim()
    : undefined;
}

/** Of text and variables in turn: the shell puts the variables in, and leaves the rest as it is. */
const shellWord = (parts: readonly string[]): string =>
  parts.length === 1
    ? shellWords(parts)
    : parts.map((part, n) => (n % 2 === 1 ? `"${part}"` : part === '' ? '' : shellWords([part]))).join('');

/** The port inside: the last of `8080:80`, `127.0.0.1:8080:80/tcp`, or `target`. */
function portOf(value: unknown, text: Text): string | undefined {
  const short = text(value) ?? text(mapOf(value)['target']);
  return /(\d+)(?:-\d+)?(?:\/\w+)?$/.exec(short ?? '')?.[1];
}

function volumeOf(value: unknown, text: Text): Volume | undefined {
  const short = text(value);
  if (short === undefined) {
    const { source, target } = mapOf(value);
    const [from, to] = [text(source), text(target)];
    return to === undefined ? undefined : { to, ...(from !== undefined && { from }) };
  }
  const [first = '', second] = short.split(':');
  return second === undefined ? { to: first } : { from: first, to: second };
}

/** Values that would come from elsewhere are mostly secrets: they are undefined, and nothing of them gets into a repository. */
function environmentOf(value: unknown): Map<string, string | undefined> {
  const pairs = Array.isArray(value)
    ? value.map((line) => /^([^=]+)(?:=(.*))?$/s.exec(String(line)) ?? []).map(([, name = '', given]) => [name, given] as const)
    : Object.entries(mapOf(value));
  return new Map(
    pairs.map(([name, given]) => [name, given === undefined || given === null ? undefined : withoutOthers(plain(given))] as const),
  );
}

const plain = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Undefined where a variable without a default is in it. */
function withoutOthers(text: string): string | undefined {
  let isWhole = true;
  const found = interpolated(text, {}, () => {
    isWhole = false;
    return '';
  });
  return isWhole ? found : undefined;
}

/** `${NAME}`, `$NAME`, `${NAME:-default}`, `${NAME-default}`, `${NAME:?complaint}`; `$$` is a dollar. */
const variable = /\$(?:(\$)|\{(\w+)(?::?([-?+])([^}]*))?\}|(\w+))/g;

function interpolated(text: string, values: Values, otherwise: (name: string) => string = () => ''): string {
  return text.replaceAll(variable, (_whole, dollar, braced, sign, rest, bare) => {
    if (dollar !== undefined) return '$';
    const name = String(braced ?? bare);
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined && value !== '') return sign === '+' ? String(rest) : value;
    return sign === '-' ? String(rest) : sign === '+' ? '' : otherwise(name);
  });
}

/** Text and variables in turn, beginning with text. Those that have a default are text. The names of the others are added to `used`. */
function withVariables(text: string, used: Set<string>): string[] {
  const mark = '\0';
  const marked = interpolated(text.replaceAll(mark, ''), {}, (name) => {
    used.add(name);
    return `${mark}\${${name}}${mark}`;
  });
  return marked.split(mark);
}

/** What a `.env` file says. */
export const readDotEnv = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name = '', value = ''] = /^\s*(?:export\s+)?([\w.]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
      return name === '' ? [] : [[name, value.replaceAll(/^(["'])(.*)\1$/g, '$2')]];
    }),
  );

const mapOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
const namesOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : Object.keys(mapOf(value)));
