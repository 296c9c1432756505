/**
 * What the files of an application have to say to a request: `web.locations`.
 *
 * - The location with the longest path governs, cut at slashes; its `root` stands in place of its path. Of its rules the first that matches the path
 *   changes what holds. Both go by the path as it means, with percent signs decoded.
 * - A file is sent where it is allowed; a folder is its index, and without a slash at the end a redirect to the one with it. Whatever is missing or not
 *   allowed goes to the application where `passthru` says so.
 * - For FastCGI, `.php` is a script and never a text to send; `passthru` names the script that everything else goes to.
 * - A path with dots, doubled or encoded slashes, backslashes or what is no UTF-8 is no file. Names with a dot in front are files like any other.
 */
import { regexpList, type RegexpList } from '../regexp/bounded-regexp.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { type FoundFile, replyWithFile } from './file-reply.ts';
import { page } from '../pages.ts';
import { decodePath, encodeText } from '../routing/paths.ts';
import { type Resolved, resolveFile } from './resolve-file.ts';
import type { Location, Upstream } from '../routing/table.ts';
import { fillIn, type Variables } from '../routing/template.ts';

/**
 * - reply: a file, a redirect to a folder's slash, 304, 405, 416.
 * - pass: to the application as it came.
 * - script: FastCGI. `script` is SCRIPT_FILENAME, `scriptName` SCRIPT_NAME, `root` DOCUMENT_ROOT (both paths in the container); `query` is QUERY_STRING
 *   where the front controller brings one of its own.
 * - the others: pages of that kind.
 */
export type FileAnswer =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'pass' }
  | { kind: 'script'; script: string; scriptName: string; root: string; pathInfo: string; query?: string }
  | { kind: 'forbidden' | 'not-found' | 'bad-request' | 'unavailable' };

type Rule = Pick<Location, 'allow' | 'scripts' | 'passthru' | 'expires' | 'headers'>;
interface Governing {
  location: Location;
  /** The path of the location, without a slash at the end. */
  at: string;
  /** The folder of the container that `at` stands for. */
  root: string;
}
/** A path with what holds for it. */
interface Asked extends Governing {
  upstream: Upstream;
  exchange: Exchange;
  path: string;
  rule: Rule;
  variables: Variables;
}

/** How many parts of one path that look like scripts are looked for on the disk. */
const scriptsMax = 5;

const pass: FileAnswer = { kind: 'pass' };
const notFound: FileAnswer = { kind: 'not-found' };
const forbidden: FileAnswer = { kind: 'forbidden' };

/** The location that governs a path (as it came); undefined where none does, and all goes to the application. */
export const locationOf = (upstream: Upstream, path: string): Location | undefined =>
  governing(upstream, decodePath(path) ?? path)?.location;

/** Synchronous wherever nothing must be waited for. */
export function answerFromFiles(upstream: Upstream, exchange: Exchange): FileAnswer | Promise<FileAnswer> {
  const decoded = decodePath(exchange.path);
  const governed = governing(upstream, decoded ?? exchange.path);
  if (!governed) return pass;
  const asked = ask(upstream, exchange, governed, decoded ?? exchange.path);
  if (!asked) return { kind: 'unavailable' };
  if (decoded === undefined) return otherwise(asked, { kind: 'bad-request' });
  if (governed.location.root === null || !isPlain(decoded, exchange.path)) return otherwise(asked, notFound);
  return upstream.protocol === 'fastcgi' ? (scriptIn(asked) ?? fileOrFolder(asked)) : fileOrFolder(asked);
}

const isPlain = (decoded: string, path: string) =>
  !/\/\.{0,2}(?:\/|$)/.test(decoded.endsWith('/') ? decoded.slice(0, -1) || '/x' : decoded) &&
  !decoded.includes('\\') &&
  !/%2f/i.test(path);

interface Locations {
  byPath: Map<string, Governing>;
  /** The lengths of the locations' paths: a request's path is cut only to these. */
  lengths: ReadonlySet<number>;
}
const locationsOf = new WeakMap<Upstream, Locations>();

function governing(upstream: Upstream, path: string): Governing | undefined {
  const { byPath, lengths } = locationsOf.get(upstream) ?? readLocations(upstream);
  if (byPath.size === 0) return undefined;
  for (let length = path.length; length >= 0; length = length === 0 ? -1 : path.lastIndexOf('/', length - 1)) {
    const found = lengths.has(length) ? byPath.get(path.slice(0, length)) : undefined;
    if (found) return found;
  }
  return undefined;
}

function readLocations(upstream: Upstream): Locations {
  const byPath = new Map(Object.entries(upstream.locations).map(([path, location]) => governingOf(upstream, path, location)));
  const locations = { byPath, lengths: new Set([...byPath.keys()].map(({ length }) => length)) };
  locationsOf.set(upstream, locations);
  return locations;
}

function governingOf({ app_root }: Upstream, path: string, location: Location): [string, Governing] {
  const at = path.replace(/\/+$/, '');
  return [at, { location, at, root: join(app_root, location.root ?? '') }];
}

interface Rules {
  list: RegexpList;
  rules: Rule[];
}
const rulesOf = new WeakMap<Location, Rules | 'none'>();

/** Undefined: a rule might forbid the path, but that cannot be decided. */
function ask(upstream: Upstream, exchange: Exchange, governed: Governing, path: string): Asked | undefined {
  const { location } = governed;
  const known = rulesOf.get(location) ?? readRules(location);
  const variables: Variables = { path: exchange.path, query: exchange.query };
  if (known === 'none') return { ...governed, upstream, exchange, path, rule: location, variables };
  const found = known.list.first(path);
  if (found === 'undecided') return undefined;
  const rule = found && known.rules[found.index];
  return {
    ...governed,
    upstream,
    exchange,
    path,
    rule: rule ?? location,
    variables: found ? { ...variables, groups: found.groups, named: found.named } : variables,
  };
}

function readRules(location: Location): Rules | 'none' {
  const sources = Object.keys(location.rules);
  const { allow, scripts, passthru, expires, headers } = location;
  const rules: Rules | 'none' =
    sources.length === 0
      ? 'none'
      : {
          list: regexpList(sources),
          rules: Object.values(location.rules).map((rule) => ({ allow, scripts, passthru, expires, headers, ...rule })),
        };
  rulesOf.set(location, rules);
  return rules;
}

const inContainer = ({ root, at }: Governing, path: string) => root + path.slice(at.length);
const join = (folder: string, below: string) => `${folder.replace(/\/+$/, '')}/${below.replace(/^\/+/, '')}`.replace(/\/+$/, '');

const find = (asked: Asked, path: string): Resolved => resolveFile(asked.upstream.files, inContainer(asked, path));

function fileOrFolder(asked: Asked): FileAnswer | Promise<FileAnswer> {
  const found = find(asked, asked.path);
  if (found.kind === 'nothing') return otherwise(asked, notFound);
  const hasSlash = asked.path.endsWith('/');
  if (found.kind === 'file') return hasSlash ? otherwise(asked, notFound) : fileAnswer(asked, found);
  const index = indexOf(asked);
  if (!index) return otherwise(asked, hasSlash ? forbidden : notFound);
  if (hasSlash) return indexAnswer(asked, index);
  const redirect: FileAnswer = { kind: 'reply', reply: slashReply(asked.exchange) };
  return isReading(asked.exchange) ? redirect : otherwise(asked, redirect);
}

/** The name of the first index that is there. */
const indexOf = (asked: Asked) =>
  asked.location.index.find((name) => isPlain(`/${name}`, '') && find(asked, `${withSlash(asked.path)}${name}`).kind === 'file');
const withSlash = (path: string) => (path.endsWith('/') ? path : `${path}/`);

/** Answers as if the name of the index had been asked for: rules for that name hold. */
function indexAnswer({ upstream, exchange, location, at, root, path }: Asked, name: string): FileAnswer | Promise<FileAnswer> {
  const asked = ask(upstream, exchange, { location, at, root }, path + name);
  if (!asked) return { kind: 'unavailable' };
  const script = upstream.protocol === 'fastcgi' ? scriptIn(asked) : undefined;
  const found = find(asked, asked.path);
  return script ?? (found.kind === 'file' ? fileAnswer(asked, found) : otherwise(asked, notFound));
}

function slashReply({ path, query }: Exchange): Reply {
  const location = encodeText(`${path.replace(/^[/\\]+/, '/')}/${query === '' ? '' : `?${query}`}`);
  return { status: 301, headers: [['Location', location]], body: '' };
}

function fileAnswer(asked: Asked, file: FoundFile): FileAnswer | Promise<FileAnswer> {
  const { exchange, rule, path, upstream } = asked;
  if (!rule.allow || (upstream.protocol === 'fastcgi' && isScript(path))) return otherwise(asked, forbidden);
  if (!isReading(exchange)) return otherwise(asked, { kind: 'reply', reply: notAllowed(exchange) });
  const besides = (ending: string) => {
    const beside = find(asked, path + ending);
    return beside.kind === 'file' ? beside : undefined;
  };
  const reply = replyWithFile(exchange, path, file, rule, besides);
  if (reply instanceof Promise) return reply.then((made) => (made ? { kind: 'reply', reply: made } : otherwise(asked, notFound)));
  return reply ? { kind: 'reply', reply } : otherwise(asked, notFound);
}

function notAllowed(exchange: Exchange): Reply {
  const reply = page('method-not-allowed', exchange);
  return { ...reply, headers: [...reply.headers, ['Allow', 'GET, HEAD']] };
}

const isReading = ({ method }: Exchange) => method === 'GET' || method === 'HEAD';
const isScript = (path: string) => /\.php$/i.test(path);

/** The first part of the path that is a script which is there; what comes after it is for the script to read. Undefined: there is none. */
function scriptIn(asked: Asked): FileAnswer | undefined {
  for (const { index } of asked.path.matchAll(/\.php(?=\/|$)/gi).take(scriptsMax)) {
    const scriptName = asked.path.slice(0, index + '.php'.length);
    if (find(asked, scriptName).kind !== 'file') continue;
    if (!asked.rule.scripts) return otherwise(asked, forbidden);
    return {
      kind: 'script',
      script: inContainer(asked, scriptName),
      scriptName,
      root: asked.root,
      pathInfo: asked.path.slice(scriptName.length),
    };
  }
  return undefined;
}

/** Passes the request to the application where the location lets it through; otherwise gives this answer. */
function otherwise(asked: Asked, answer: FileAnswer): FileAnswer {
  const { upstream, rule } = asked;
  if (rule.passthru === false) return answer;
  return upstream.protocol === 'http' ? pass : (frontController(asked, rule.passthru) ?? notFound);
}

/** The front controller is a path of the site like any other, so its own location says where it is. */
function frontController(asked: Asked, passthru: string | true): FileAnswer | undefined {
  const text = passthru === true ? `/${asked.location.index.find(isScript) ?? 'index.php'}` : fillIn(passthru, asked.variables);
  const [path = '', query] = text.split(/\?(.*)/s);
  const scriptName = decodePath(path.startsWith('/') ? path : `/${path}`) ?? '';
  const governed = governing(asked.upstream, scriptName);
  if (!governed || governed.location.root === null || !isPlain(scriptName, path) || !isScript(scriptName)) return undefined;
  const place = { ...asked, ...governed };
  if (find(place, scriptName).kind !== 'file') return undefined;
  return {
    kind: 'script',
    script: inContainer(place, scriptName),
    scriptName,
    root: place.root,
    pathInfo: '',
    ...(query !== undefined && { query }),
  };
}
