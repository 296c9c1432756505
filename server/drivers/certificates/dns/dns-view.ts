/** What DNS says, asked of the name servers of a zone themselves: what caches remember is too old to count. */
import { CANCELLED } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isPublicAddress } from '../../../../edge/upstream/public-address.ts';

export interface DnsView {
  /** Where a name leads by CNAME records; itself, where it has none. */
  endOfAliases(name: string): Promise<string>;
  /** Whether all name servers that answer have this TXT record. */
  hasText(name: string, value: string): Promise<boolean>;
  /** Where a name leads now, as its own name servers say: the names that it is an alias of, in their order, and addresses. Undefined: nobody answers. */
  whereTo(name: string): Promise<Destination | undefined>;
}

export interface Destination {
  aliases: string[];
  addresses: string[];
}

const aliasesMax = 8;
const timing = { timeout: 3000, tries: 2 };

export interface DnsViewOptions {
  /** Asked in the place of the zone's own, as `<address>:<port>`. */
  servers?: readonly string[];
  /** Which addresses of name servers may be asked: whoever has a zone chooses them, and so must not lead us into networks that are not theirs. Public ones, unless said otherwise. */
  mayAsk?: (address: string) => boolean;
}

export function openDnsView({ servers, mayAsk = isPublicAddress }: DnsViewOptions = {}): DnsView {
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
      const asked = servers ?? (await nameServersOf(general, name, mayAsk)).map(asServer);
      const answers = await Promise.all(asked.map((server) => textsOf(resolverOf([server]), name)));
      const heard = answers.filter((texts) => texts !== undefined);
      return heard.length > 0 && heard.every((texts) => texts.includes(value));
    },
    whereTo: (name) => withinSeconds(lookSecondsMax, (open) => followed(name, open, servers, mayAsk)),
  };
}

/** Whoever has a zone can make each of its answers as slow as they like. */
const lookSecondsMax = 10;

type Open = (servers: readonly string[] | undefined) => Resolver;

/** What is asked by resolvers that were opened for the work is given up after so long. */
async function withinSeconds<T>(secondsMax: number, work: (open: Open) => Promise<T>): Promise<T> {
  const opened: Resolver[] = [];
  const giveUp = () => {
    for (const resolver of opened) resolver.cancel();
  };
  const timer = setTimeout(giveUp, secondsMax * 1000);
  try {
    return await work((asked) => {
      const resolver = resolverOf(asked);
      opened.push(resolver);
      return resolver;
    });
  } finally {
    clearTimeout(timer);
  }
}

async function followed(
  name: string,
  open: Open,
  servers: readonly string[] | undefined,
  mayAsk: (address: string) => boolean,
): Promise<Destination | undefined> {
  const general = open(servers);
  const aliases: string[] = [];
  for (let end = name; aliases.length <= aliasesMax; end = aliases.at(-1) ?? end) {
    const asked = servers ?? (await nameServersOf(general, end, mayAsk)).map(asServer);
    // A name in no zone leads nowhere; one whose name servers may not be asked is not known.
    if (asked.length === 0) return (await hasNameServers(general, end)) ? undefined : { aliases, addresses: [] };
    const resolver = open(asked);
    const next = await answerOf(resolver.resolveCname(end));
    if (next === undefined) return undefined;
    if (next[0] === undefined) {
      const found = await Promise.all([answerOf(resolver.resolve4(end)), answerOf(resolver.resolve6(end))]);
      return found.every((each) => each === undefined) ? undefined : { aliases, addresses: found.flatMap((each) => each ?? []) };
    }
    aliases.push(next[0].toLowerCase());
  }
  return { aliases, addresses: [] };
}

function resolverOf(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver(timing);
  if (servers) resolver.setServers(servers);
  return resolver;
}

/** Whoever gave up asks nothing more. */
const nothing = (error: NodeJS.ErrnoException): string[] => {
  if (error.code === CANCELLED) throw error;
  return [];
};

/** As many as the root zone has; a zone can name any number. */
const nameServersMax = 13;
const addressesMax = 26;

type Looking = Pick<Resolver, 'resolveNs' | 'resolve4' | 'resolve6'>;

/** The addresses of the name servers of the zone that the name is in: of the first parent that has any. */
export async function nameServersOf(general: Looking, name: string, mayAsk: (address: string) => boolean): Promise<string[]> {
  const labels = name.split('.');
  for (const start of labels.keys()) {
    const hosts = await general.resolveNs(labels.slice(start).join('.')).catch(nothing);
    if (hosts.length === 0) continue;
    const addresses = await Promise.all(
      hosts.slice(0, nameServersMax).flatMap((host) => [general.resolve4(host).catch(nothing), general.resolve6(host).catch(nothing)]),
    );
    return [...new Set(addresses.flat())].filter(mayAsk).slice(0, addressesMax);
  }
  return [];
}

const asServer = (address: string) => (address.includes(':') ? `[${address}]` : address);

const answersWithout: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** Undefined where there is no answer, such as when this machine cannot reach the server. */
const answerOf = <Record>(asked: Promise<Record[]>): Promise<Record[] | undefined> =>
  asked.catch((error: NodeJS.ErrnoException) => (answersWithout.has(error.code ?? '') ? [] : undefined));

const textsOf = async (resolver: Resolver, name: string): Promise<string[] | undefined> =>
  (await answerOf(resolver.resolveTxt(name)))?.map((pieces) => pieces.join(''));

/** Whether the zone of the name is there at all, whoever its name servers are. */
const hasNameServers = async (general: Looking, name: string): Promise<boolean> =>
  (await nameServersOf(general, name, () => true)).length > 0;
