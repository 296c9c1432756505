/** What table.ts describes, checked where it comes in: by the control socket, or from the disk. */
import {
  byName,
  either,
  fields,
  fieldsBut,
  flag,
  flagOr,
  kinds,
  list,
  oneOf,
  orNull,
  parserOf,
  Refused,
  someFields,
  text,
  textLike,
  wholeNumber,
} from './schema.ts';
import {
  platformCluster,
  type CacheRules,
  type EdgeEnvironment,
  type FilesAt,
  type HttpAccess,
  type Location,
  type PathRedirect,
  type Route,
  type RouteTls,
  type Upstream,
} from './table.ts';

const wordCharactersMax = 256;
const addressCharactersMax = 4096;
const patternCharactersMax = 2000;
const headerCharactersMax = 8192;
const hostCharactersMax = 255;
const routesMax = 2000;
const upstreamsMax = 500;
const instancesMax = 500;
const entriesMax = 5000;
const redirectedPathsMax = 50_000;
const certificateCharactersMax = 64 * 1024;
const authoritiesMax = 100;

const clusterPattern = new RegExp(`^(?:[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])?|${platformCluster})$`);
export const isCluster = (text: string) => clusterPattern.test(text);

const word = text(wordCharactersMax);
const pattern = text(patternCharactersMax);
/** A header may hold nothing that would end it and begin another. */
const headerName = textLike(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, wordCharactersMax, 'the name of a header');
const headerValue = textLike(/^[^\0\r\n]*$/, headerCharactersMax, 'the value of a header');
const url = textLike(/^[^\0\r\n]*$/, addressCharactersMax, 'an address');
const absolutePath = textLike(/^\/[^\0]*$/, addressCharactersMax, 'a path that begins with a slash');

/** The path of a folder inside another: names only, which cannot lead out of it. */
const pathBelow = textLike(
  /^(?:(?!\.{1,2}(?:\/|$))[^\0/]+(?:\/(?!$)|$))*$/,
  addressCharactersMax,
  'a path of names, without a slash at either end',
);

const pathRedirect = fields<PathRedirect>({
  to: url,
  regexp: flag,
  prefix: flag,
  append_suffix: flag,
  code: oneOf(301, 302, 307, 308),
  expires: orNull(word),
});

const cacheRules = fields<CacheRules>({
  enabled: flag,
  default_ttl: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  cookies: list(pattern, entriesMax),
  headers: list(headerName, entriesMax),
});

type RouteOf<Type extends Route['type']> = Extract<Route, { type: Type }>;
/** Fields that tables written by an earlier edge do not have. */
const added = ['claim', 'tls'] as const;

const routeBase = {
  type: word,
  original_url: url,
  scheme: oneOf('http', 'https'),
  host: textLike(
    /^(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])$/,
    hostCharactersMax,
    'a host in lower case, without port',
  ),
  claim: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  path: textLike(/^\/(?:[^\0\r\n]*\/)?$/, addressCharactersMax, 'a path that begins and ends with a slash'),
  redirects: fields<Route['redirects']>({ expires: word, paths: byName(pattern, pathRedirect, redirectedPathsMax) }),
  strict_transport_security: fields<Route['strict_transport_security']>({ enabled: flag, include_subdomains: flag, preload: flag }),
  tls: fields<RouteTls>({
    min_version: orNull(oneOf('TLSv1.2', 'TLSv1.3')),
    client_authentication: orNull(oneOf('request', 'require')),
    client_certificate_authorities: list(text(certificateCharactersMax), authoritiesMax),
  }),
};

const route = kinds('type', {
  upstream: fieldsBut<RouteOf<'upstream'>>({ ...routeBase, upstream: word, cache: cacheRules, sticky: flag, ssi: flag }, [...added, 'ssi']),
  redirect: fieldsBut<RouteOf<'redirect'>>({ ...routeBase, to: url }, added),
  proxy: fieldsBut<RouteOf<'proxy'>>(
    { ...routeBase, to: textLike(/^https?:\/\/[^\0\r\n]+$/, addressCharactersMax, 'an address with http or https') },
    added,
  ),
});

const locationRule = {
  allow: flag,
  scripts: flag,
  passthru: flagOr(text(addressCharactersMax)),
  expires: word,
  headers: byName(headerName, headerValue, entriesMax),
};

const location = fields<Location>({
  ...locationRule,
  root: orNull(text(addressCharactersMax)),
  index: list(word, entriesMax),
  rules: byName(pattern, someFields<Location['rules'][string]>(locationRule), entriesMax),
  request_buffering: fields<Location['request_buffering']>({ enabled: flag, max_request_size: word }),
});

const address = either(fields({ host: word, port: wholeNumber(1, 65_535) }), 'socket', fields({ socket: absolutePath }));

const filesAt = fieldsBut<FilesAt>({ at: absolutePath, folder: absolutePath, below: pathBelow, is_immutable: flag }, ['below']);

const upstream = fields<Upstream>({
  protocol: oneOf('http', 'fastcgi'),
  instances: list(fields<Upstream['instances'][number]>({ id: word, address }), instancesMax),
  locations: byName(absolutePath, location, entriesMax),
  files: list(filesAt, entriesMax),
  app_root: absolutePath,
});

const httpAccess = fields<HttpAccess>({
  is_enabled: flag,
  addresses: list(fields<HttpAccess['addresses'][number]>({ permission: oneOf('allow', 'deny'), address: word }), entriesMax),
  basic_auth: byName(word, text(headerCharactersMax), entriesMax),
});

const parseShape = parserOf(
  fieldsBut<EdgeEnvironment>(
    {
      cluster: textLike(clusterPattern, wordCharactersMax, 'of lower-case letters, digits and dashes'),
      version: wholeNumber(0, Number.MAX_SAFE_INTEGER),
      state: oneOf('open', 'holding', 'sleeping', 'paused', 'broken', 'full'),
      holds_until: wholeNumber(0, Number.MAX_SAFE_INTEGER),
      deployment: word,
      restrict_robots: flag,
      http_access: httpAccess,
      routes: list(route, routesMax),
      upstreams: byName(word, upstream, upstreamsMax),
    },
    ['holds_until'],
  ),
  'The environment',
);

export function parseEnvironment(value: unknown): EdgeEnvironment {
  const environment = parseShape(value);
  const dangling = environment.routes.flatMap((it, index) =>
    it.type === 'upstream' && !Object.hasOwn(environment.upstreams, it.upstream)
      ? [[`routes.${index}.upstream`, 'is not among upstreams']]
      : [],
  );
  if (dangling.length > 0) throw new Refused(Object.fromEntries(dangling));
  if (environment.holds_until !== undefined && environment.state !== 'holding')
    throw new Refused({ holds_until: 'is only for one that is holding' });
  return environment;
}
