/**
 * The records that lead a domain here, and whether DNS has them now. A name that is registered itself cannot be an alias, so it gets the addresses of the
 * platform, as DNS knows them. What was found counts for some seconds, so that whoever looks again and again asks the name servers of others no more often.
 */
import type { Destination } from '../../drivers/certificates/dns/dns-view.ts';
import { limit } from '../../kernel/limits.ts';
import type { Platform } from '../../platform.ts';

export interface DnsRecord {
  type: 'CNAME' | 'A' | 'AAAA';
  name: string;
  value: string;
}

export interface DnsState {
  /** Null: nobody answers. */
  is_set: boolean | null;
  /** In one sentence. */
  says: string;
  records: DnsRecord[];
  found: Destination;
  checked_at: string;
}

interface Asked {
  name: string;
  registered_name: string;
  /** The host of the environment that it is a domain of. */
  target: string;
}

const rememberedMilliseconds = 15_000;
const rememberedMax = 1000;
/** `until` is endless while somebody still looks. */
const remembered = new Map<string, { until: number; state: Promise<DnsState> }>();
/** In this process. */
const looks = limit(20);

export function dnsStateOf(platform: Pick<Platform, 'domainProofs'>, asked: Asked): Promise<DnsState> {
  const key = `${asked.name} ${asked.target}`;
  const known = remembered.get(key);
  if (known && known.until > Date.now()) return known.state;
  const look = { until: Infinity, state: looks(() => lookedUp(platform, asked)) };
  const isOver = () => {
    look.until = Date.now() + rememberedMilliseconds;
  };
  look.state.then(isOver, isOver);
  remembered.delete(key);
  remembered.set(key, look);
  for (const [oldest] of remembered) {
    if (remembered.size <= rememberedMax) break;
    remembered.delete(oldest);
  }
  return look.state;
}

async function lookedUp({ domainProofs }: Pick<Platform, 'domainProofs'>, { name, registered_name, target }: Asked): Promise<DnsState> {
  const [own, ours] = await Promise.all([domainProofs.whereTo(someNameOf(name)), domainProofs.whereTo(target)]);
  const here = ours?.addresses ?? [];
  return {
    ...judged(own, target, here),
    records: recordsFor({ name, registered_name, target }, here),
    found: own ?? { aliases: [], addresses: [] },
    checked_at: new Date().toISOString(),
  };
}

/** Of a wildcard, a name that nobody has a record of its own for. */
const someNameOf = (name: string) => name.replace(/^\*\./, 'offshoot-looks-here.');

function recordsFor({ name, registered_name, target }: Asked, here: readonly string[]): DnsRecord[] {
  if (name !== registered_name || here.length === 0) return [{ type: 'CNAME', name, value: target }];
  return here.map((value) => ({ type: value.includes(':') ? 'AAAA' : 'A', name, value }));
}

function judged(own: Destination | undefined, target: string, here: readonly string[]): Pick<DnsState, 'is_set' | 'says'> {
  if (!own) return { is_set: null, says: 'The name servers of the domain do not answer; it is not known where it leads.' };
  const { aliases, addresses } = own;
  const strangers = addresses.filter((address) => !here.includes(address));
  if (aliases.includes(target) || (addresses.length > 0 && strangers.length === 0)) return { is_set: true, says: 'It leads here.' };
  if (aliases.length === 0 && addresses.length === 0) return { is_set: false, says: 'There is no record yet.' };
  if (strangers.length < addresses.length)
    return { is_set: false, says: `It leads here, and to ${strangers.join(' and ')} as well, which is not this platform.` };
  return { is_set: false, says: `It leads to ${[aliases.at(-1) ?? addresses].flat().join(' and ')}, which is not this platform.` };
}
