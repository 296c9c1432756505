/** Values of variables that name another service: the platform tells apps where their services are, so these are put together from what it tells. */

export interface Peer {
  /** The name by which others reached it. */
  name: string;
  /** The beginning of the variables that the platform tells: `DB` of `DB_HOST`. */
  prefix: string;
  /** Has users and passwords, or databases, or neither. */
  has: 'databases' | 'accounts' | 'nothing';
  /** What it was set up with. */
  own: { user?: string; password?: string; database?: string };
  port?: string;
}

const address = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^@/]*@)?([^:/?#@]+)(?::\d+)?(\/[^?#]*)?([?#].*)?$/i;

/** For a shell, in double quotes; undefined where the value has nothing to do with any of them. */
export function toldValue(name: string, value: string, peers: readonly Peer[]): string | undefined {
  const byName = (host: string) => peers.find((peer) => peer.name === host);
  const [, scheme = '', host = '', path = '', rest = ''] = address.exec(value) ?? [];
  const peer = byName(host);
  if (peer) return `${scheme}${accountOf(peer)}$${peer.prefix}_HOST:$${peer.prefix}_PORT${pathOf(peer, path)}${quotable(rest)}`;
  const [, alone = '', port] = /^([^:\s]+)(:\d+)?$/.exec(value) ?? [];
  const named = byName(alone);
  if (named) return `$${named.prefix}_HOST${port === undefined ? '' : `:$${named.prefix}_PORT`}`;
  return ofAccount(name, value, peers);
}

const accountOf = ({ has, prefix }: Peer) => (has === 'nothing' ? '' : `$${prefix}_USERNAME:$${prefix}_PASSWORD@`);
const pathOf = ({ has, prefix }: Peer, path: string) => (has === 'databases' ? `/$${prefix}_PATH` : quotable(path));
/** Inside of double quotes, a shell leaves it as it is. */
export const quotable = (text: string) => text.replaceAll(/["\\$`]/g, String.raw`\$&`);

/** `DB_PASSWORD=secret`, where that is the password of a service. */
function ofAccount(name: string, value: string, peers: readonly Peer[]): string | undefined {
  const isFor = (words: RegExp) => words.test(name);
  for (const { prefix, own, port, has } of peers) {
    if (has !== 'nothing' && value === own.user && isFor(/USER/i)) return `$${prefix}_USERNAME`;
    if (has !== 'nothing' && value === own.password && isFor(/PASS|SECRET/i)) return `$${prefix}_PASSWORD`;
    if (has === 'databases' && value === own.database && isFor(/DB|DATABASE|NAME|SCHEMA/i)) return `$${prefix}_PATH`;
    if (value === port && isFor(/PORT/i)) return `$${prefix}_PORT`;
  }
  return undefined;
}
