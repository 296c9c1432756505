/**
 * What containers can reach: each other within their network, and the internet; not other networks, not this machine but for ports that are admitted, not what clouds tell
 * their machines, no private address but those that the operator names, and no mail server directly. This machine reaches them. Some reach less of
 * the internet, by rules of their own, which go by the address: no container can take another. One nftables table for each instance, always written
 * whole; made-up addresses (RFC 5737) count as the internet, which is what they stand for where there is none.
 *
 * A firewall that drops what it does not know (Docker's, for one, sets the policy of forwarding so) still drops what we let pass.
 */
import { isIPv4 } from 'node:net';
import { privateNetworks } from '../../../../edge/upstream/public-address.ts';
import type { AdmittedPort, OutboundRule } from '../runtime.ts';
import { connectionLimits, refusing, removedConnectionLimits } from './connection-limits.ts';
import { type RuntimeFolders, bridgeOf, bridgePrefix, readText } from './runtime-folders.ts';
import { addressOf, gatewayOf, subnetOf } from './network-slots.ts';

export const tableOf = (folders: RuntimeFolders) => `inet offshoot_${folders.instance}`;
const anyBridge = 'of-*';
/** Metadata services of clouds, which no operator wants reached: link-local, as with AWS, Google, Azure and others, and two that are not, of Alibaba and Azure. */
const metadata = '169.254.0.0/16, 100.100.100.200, 168.63.129.16';

/** The first line makes the second possible where there is no such table yet. */
const removedTable = (folders: RuntimeFolders) => `add table ${tableOf(folders)}\ndelete table ${tableOf(folders)}\n`;
export const removedFirewall = (folders: RuntimeFolders) => removedTable(folders) + removedConnectionLimits(folders);

/** A container that may not reach the whole internet. */
export interface Restriction {
  slot: number;
  host: number;
  outbound: readonly OutboundRule[];
}

/** In the language of `nft -f`. */
export function firewall(
  folders: RuntimeFolders,
  slots: readonly number[],
  resolvers: readonly string[],
  restrictions: readonly Restriction[],
  admitted: readonly AdmittedPort[],
): string {
  const ours = `"${bridgePrefix(folders)}*"`;
  const same = slots.map((slot) => `"${bridgeOf(folders, slot)}" . "${bridgeOf(folders, slot)}"`).join(', ');
  const names =
    resolvers.length > 0 ? `iifname ${ours} ip daddr { ${resolvers.join(', ')} } meta l4proto { tcp, udp } th dport 53 accept` : '';
  const toMachine = `iifname ${ours} ip daddr { ${slots.map(gatewayOf).join(', ')} }`;
  const restricted = restrictions.map(({ slot, host }) => `${addressOf(slot, host)} : goto ${chainOf(slot, host)}`).join(', ');
  return `${removedTable(folders)}table ${tableOf(folders)} {
${restrictions.map(restrictionText).join('')}${allowedText(folders)}  chain refused {
${refusing('   ')}  }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname != ${ours} accept
    ct state established,related accept
    ${names}
    ${admitted.length > 0 ? `${toMachine} tcp dport { ${admitted.map(({ port }) => port).join(', ')} } accept` : ''}
    drop
  }
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    ${admitted.map(({ port, as }) => (port === as ? '' : `${toMachine} tcp dport ${as} redirect to :${port}\n    `)).join('')}
  }
  chain output {
    type filter hook output priority -10; policy accept;
    ${admitted.map((port) => waitingText(ours, port)).join('')}
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    ${same && `iifname . oifname { ${same} } accept`}
    iifname ${ours} oifname "${anyBridge}" drop
    ${names}
    iifname ${ours} meta nfproto ipv6 drop
    iifname ${ours} ip daddr { ${metadata} } drop
    iifname ${ours} tcp dport 25 drop
    iifname ${ours} ip daddr { ${privateNetworks.join(', ')} } ip daddr != @allowed goto refused
    ${restricted && `iifname ${ours} ip saddr vmap { ${restricted} }`}
    oifname ${ours} ct state established,related accept
    oifname ${ours} drop
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ${slots.length > 0 ? `ip saddr { ${slots.map(subnetOf).join(', ')} } oifname != "${anyBridge}" masquerade` : ''}
  }
}
${connectionLimits(folders)}`;
}

/** Keeps back the reset by which the kernel says that nobody listens (and no other: its sequence is 0), so that whoever connects tries again by itself. */
const waitingText = (ours: string, { port, whileNobodyListens }: AdmittedPort) =>
  whileNobodyListens === 'wait' ? `oifname ${ours} tcp sport ${port} tcp flags & rst == rst tcp sequence 0 drop\n    ` : '';

function allowedText({ allowPrivateAddresses }: RuntimeFolders): string {
  const ranges = rangesOf(allowPrivateAddresses);
  const elements = ranges.length > 0 ? ` elements = { ${ranges.join(', ')} };` : '';
  return `  set allowed { type ipv4_addr; flags interval; auto-merge;${elements} }\n`;
}

/** Ranges of IPv4 only: IPv6 leads nowhere. */
const rangesOf = (ranges: readonly string[]) => ranges.filter((range) => !range.includes(':'));

const chainOf = (slot: number, host: number) => `outbound_${slot}_${host}`;

/** An address that is no longer among the rules keeps the connections it has. */
function restrictionText({ slot, host, outbound }: Restriction): string {
  const chain = chainOf(slot, host);
  const rules = outbound.map(({ ips, ports }) => ({ ranges: rangesOf(ips), ports })).filter(({ ranges }) => ranges.length > 0);
  const sets = rules.map(
    ({ ranges }, index) => `  set ${chain}_${index} { type ipv4_addr; flags interval; auto-merge; elements = { ${ranges.join(', ')} }; }\n`,
  );
  const lines = rules.map(({ ports }, index) => {
    const where = ports.length > 0 ? `tcp dport { ${[...new Set(ports)].join(', ')} }` : 'meta l4proto tcp';
    return `    ip daddr @${chain}_${index} ${where} accept\n`;
  });
  return `${sets.join('')}  chain ${chain} {
    ct state established,related accept
${lines.join('')}    drop
  }
`;
}

const resolverFiles = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

/** The machine's resolvers that a container can reach: a loopback address would be the container itself. */
export function machineResolvers(): string[] {
  for (const file of resolverFiles) {
    const found = [...(readText(file) ?? '').matchAll(/^nameserver\s+(\S+)/gm)].map(([, address = '']) => address);
    const usable = found.filter((address) => isIPv4(address) && !address.startsWith('127.') && address !== '0.0.0.0');
    if (usable.length > 0) return usable;
  }
  return [];
}
