/**
 * Looks up names that users chose. The system's own lookup keeps one of Node's few threads, which files need too, for as long as a name server is silent: a
 * handful of names whose name servers never answer would stop the whole process. So name servers are asked without a thread, and for a bounded time. The machine's
 * own names (`/etc/hosts`) still come first, as they do for every other program.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Answers with no address where there is none; may throw instead. */
export type Lookup = (host: string) => Promise<{ address: string }[]>;

export interface LookupOptions {
  /** Asked in the place of the machine's own. */
  servers?: readonly string[];
  hostsFile?: string;
}

const answerMillisecondsMax = 3000;
const triesMax = 2;

export function lookUpHost({ servers, hostsFile = '/etc/hosts' }: LookupOptions = {}): Lookup {
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const own = await ownAddresses(name, hostsFile);
    return (own.length > 0 ? own : await askNameServers(name, servers)).map((address) => ({ address }));
  };
}

async function askNameServers(name: string, servers: readonly string[] | undefined): Promise<string[]> {
  // Name servers that the machine uses may change; a resolver knows those of the moment at which it was made.
  const resolver = new Resolver({ timeout: answerMillisecondsMax, tries: triesMax });
  if (servers) resolver.setServers(servers);
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

/** What this machine itself says of a name. `localhost`, and all below it, is this machine by definition (RFC 6761). */
async function ownAddresses(name: string, hostsFile: string): Promise<string[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
  const addresses = lines.flatMap(([address = '', ...names]) =>
    isIP(address) && names.some((each) => each.toLowerCase() === name) ? [address] : [],
  );
  if (addresses.length > 0) return addresses;
  return name === 'localhost' || name.endsWith('.localhost') ? ['127.0.0.1'] : [];
}
