/** What DNS says, asked of the name servers of a zone themselves: what caches remember is too old to count. */
import { Resolver } from 'node:dns/promises';

export interface DnsView {
  /** Where a name leads by CNAME records; itself, where it has none. */
  endOfAliases(name: string): Promise<string>;
  /** Whether all name servers that answer have this TXT record. */
  hasText(name: string, value: string): Promise<boolean>;
}

const aliasesMax = 8;
const timing = { timeout: 3000, tries: 2 };

/** `servers` are asked in the place of the zone's own. */
export function openDnsView(servers?: readonly string[]): DnsView {
  const general = resolverOf(servers);
  return {
    async endOfAliases(name) {
      let end = name;
      for (let n = 0; n < aliasesMax; n += 1) {
        const [next] = await general.resolveCname(end).catch(nothing);
        if (next === undefined) break;
        end = next.toLowerCase();
      }
      return end;
    },
    async hasText(name, value) {
      const asked = servers ? servers.map((server) => resolverOf([server])) : await nameServersOf(general, name);
      const answers = await Promise.all(asked.map((resolver) => textsOf(resolver, name)));
      const heard = answers.filter((texts) => texts !== undefined);
      return heard.length > 0 && heard.every((texts) => texts.includes(value));
    },
  };
}

function resolverOf(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver(timing);
  if (servers) resolver.setServers(servers);
  return resolver;
}

const nothing = (): string[] => [];

/** The name servers of the zone that the name is in: those of the first parent that has any. */
async function nameServersOf(general: Resolver, name: string): Promise<Resolver[]> {
  const labels = name.split('.');
  for (const start of labels.keys()) {
    const hosts = await general.resolveNs(labels.slice(start).join('.')).catch(nothing);
    if (hosts.length === 0) continue;
    const addresses = await Promise.all(
      hosts.flatMap((host) => [general.resolve4(host).catch(nothing), general.resolve6(host).catch(nothing)]),
    );
    return addresses.flat().map((address) => resolverOf([address.includes(':') ? `[${address}]` : address]));
  }
  return [];
}

const answersWithout: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** Undefined where there is no answer, such as when this machine cannot reach the server. */
const textsOf = (resolver: Resolver, name: string): Promise<string[] | undefined> =>
  resolver.resolveTxt(name).then(
    (records) => records.map((pieces) => pieces.join('')),
    (error: NodeJS.ErrnoException) => (answersWithout.has(error.code ?? '') ? [] : undefined),
  );
