/** What a page can ask about the request that it answers, as nginx names it. Values are as they came: encoded, where addresses are. */
import type { Exchange } from '../exchange.ts';
import { normalisePath } from '../routing/paths.ts';
import { formatTime } from './time-format.ts';

export interface AskedPage {
  /** The page itself, or what is included in one. */
  request: Exchange;
  requestId: string;
  /** What the client asked for. */
  target: string;
  timeFormat: string;
}

type Value = (page: AskedPage) => string | undefined;

const path: Value = ({ request }) => normalisePath(request.path);
const query: Value = ({ request }) => request.query;
const host: Value = ({ request }) => request.host;
const time: Value = ({ timeFormat }) => formatTime(new Date(), timeFormat);

const values: Readonly<Record<string, Value>> = {
  uri: path,
  document_uri: path,
  args: query,
  query_string: query,
  is_args: ({ request }) => (request.query === '' ? '' : '?'),
  request_uri: ({ target }) => target,
  request_method: ({ request }) => request.method,
  request_id: ({ requestId }) => requestId,
  host,
  server_name: host,
  scheme: ({ request }) => request.scheme,
  https: ({ request }) => (request.scheme === 'https' ? 'on' : ''),
  remote_addr: ({ request }) => request.address,
  date_local: time,
  date_gmt: time,
};

/** By how names begin: the rest is the name of an argument, a cookie or a header. */
const families: Readonly<Record<string, (request: Exchange, name: string) => string | undefined>> = {
  arg_: ({ query: asked }, name) => valueIn(asked.split('&'), name),
  cookie_: ({ headers }, name) => valueIn((headers.cookie ?? '').split(';'), name),
  http_: ({ headers }, name) => headers[name.replaceAll('_', '-')],
};

/** `name` is in lower case. Undefined: there is no such variable, or the request says nothing of it. */
export function requestVariable(name: string, page: AskedPage): string | undefined {
  if (Object.hasOwn(values, name)) return values[name]?.(page);
  for (const [prefix, find] of Object.entries(families)) {
    if (name.startsWith(prefix)) return find(page.request, name.slice(prefix.length));
  }
  return undefined;
}

function valueIn(pairs: string[], name: string): string | undefined {
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim().toLowerCase() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}
