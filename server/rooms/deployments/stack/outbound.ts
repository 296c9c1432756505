/**
 * What apps and workers may reach, as the machine takes it: by address. Domains are looked up when containers start, and again every few minutes.
 * Many domains answer with some of their addresses at a time, so that those that were found lately count too.
 */
import { Resolver } from 'node:dns/promises';
import type { OutboundRule } from '../../../drivers/runtime/runtime.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { FirewallRule, ProjectModel } from '../../builds/public.ts';
import { workersIn } from './workers.ts';

/** Addresses by domain; empty where the domain has none, or where no resolver answered. */
export type DomainAddresses = ReadonlyMap<string, readonly string[]>;

const lookupMillisecondsMax = 2000;
const triesMax = 2;
const rememberedMilliseconds = 60 * 60 * 1000;
const addressesMax = 500;

/** When each address of a domain was last found, so that a rule does not forget addresses that apps may still remember. */
const foundOn = stateOf<object, Map<string, Map<string, number>>>(() => new Map());

/** Looks a domain up as containers do: they ask the same resolvers, and have IPv4 only. */
const lookUp = (domain: string) => new Resolver({ timeout: lookupMillisecondsMax, tries: triesMax }).resolve4(domain);

export const domainsOf = (model: ProjectModel): string[] => {
  const all = [...Object.values(model.applications), ...Object.values(workersIn(model))];
  return [...new Set(all.flatMap(({ firewall }) => firewall?.outbound.flatMap(({ domains }) => domains) ?? []))];
};

export async function addressesOf(machine: object, domains: readonly string[], lookUpDomain = lookUp): Promise<DomainAddresses> {
  const found = foundOn(machine);
  const now = Date.now();
  const each = domains.map(async (domain) => {
    // A domain that is unknown, or cannot be looked up, keeps the addresses that were found before.
    const addresses = await lookUpDomain(domain).catch(() => []);
    const known = found.get(domain) ?? new Map<string, number>();
    for (const address of addresses) known.set(address, now);
    for (const [address, at] of known) if (at < now - rememberedMilliseconds) known.delete(address);
    if (known.size > 0) found.set(domain, known);
    else found.delete(domain);
    return [domain, [...known.keys()].slice(-addressesMax).sort()] as const;
  });
  return new Map(await Promise.all(each));
}

export const outboundOf = (rules: readonly FirewallRule[], addresses: DomainAddresses): OutboundRule[] =>
  rules.map(({ ips, domains, ports }) => ({ ips: [...ips, ...domains.flatMap((domain) => addresses.get(domain) ?? [])], ports }));
