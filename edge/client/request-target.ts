/** Where a request wants to go, out of its first line and its Host header; undefined where that is not a place. */

export interface RequestTarget {
  /** As it came, with a port where it had one: what the application is told. */
  authority: string;
  /** Lower case, without port and without the dot at the end. */
  host: string;
  path: string;
  query: string;
}

const hostSyntax = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const hostLengthMax = 260;
const absoluteForm = /^https?:\/\/([^/?#@]*)([/?].*)?$/i;

/** The absolute form overrules Host, as RFC 9112 has it. */
export function readTarget(method: string, target: string, hostHeader: string): RequestTarget | undefined {
  let authority = hostHeader;
  let local = target;
  if (target.charCodeAt(0) !== slash && !(target === '*' && method === 'OPTIONS')) {
    const [, named, rest = '/'] = absoluteForm.exec(target) ?? [];
    if (named === undefined) return undefined;
    authority = named;
    local = rest.startsWith('/') ? rest : `/${rest}`;
  }
  const host = hostOf(authority);
  if (host === undefined || local.includes('#')) return undefined;
  const mark = local.indexOf('?');
  if (mark === -1) return { authority, host, path: local, query: '' };
  return { authority, host, path: local.slice(0, mark), query: local.slice(mark + 1) };
}

const slash = 47;

let lastAuthority = '';
let lastHost: string | undefined = '';

/** Most hosts come again and again, so the last one is remembered. */
function hostOf(authority: string): string | undefined {
  if (authority === lastAuthority) return lastHost;
  lastAuthority = authority;
  lastHost = readHost(authority);
  return lastHost;
}

function readHost(authority: string): string | undefined {
  // HTTP/1.0 knows requests without a host.
  if (authority === '') return '';
  if (authority.length > hostLengthMax || !hostSyntax.test(authority)) return undefined;
  const lower = authority.toLowerCase().replace(/:\d+$/, '');
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}
