/**
 * How many connections containers open to the outside. Each takes a place in the machine's table of connections, which visitors of all environments
 * share, and a port of the machine's address. Those within a network take neither.
 *
 * The counts are in a table of their own, which is kept while the firewall is written anew: whoever deploys often must not be counted from nought.
 * A connection that has ended is not counted any more, but keeps its place for two minutes: that is what the rate is for.
 */
import { type RuntimeFolders, bridgePrefix } from './runtime-folders.ts';

const tableOf = (folders: RuntimeFolders) => `inet offshoot_${folders.instance}_connections`;

const containerConnectionsMax = 2000;
const networkConnectionsMax = 8000;
const networkNewPerSecondMax = 200;
const networkNewAtOnceMax = 2000;
const countedMax = 65_536;

/** A network has 128 addresses (slots.ts). */
const ofNetwork = 'ip saddr and 255.255.255.128';
const limits = [
  { set: 'of_container', key: 'ip saddr', over: `ct count over ${containerConnectionsMax}` },
  { set: 'of_network', key: ofNetwork, over: `ct count over ${networkConnectionsMax}` },
  { set: 'new_of_network', key: ofNetwork, over: `limit rate over ${networkNewPerSecondMax}/second burst ${networkNewAtOnceMax} packets` },
];

/** In the language of `nft -f`; what the firewall has refused is not counted. */
export function connectionLimits(folders: RuntimeFolders): string {
  const table = tableOf(folders);
  const sets = limits.map(({ set }) => `  set ${set} { type ipv4_addr; size ${countedMax}; flags dynamic; }\n`);
  const rules = limits.map(
    ({ set, key, over }) =>
      `add rule ${table} forward iifname "${bridgePrefix(folders)}*" oifname != "of-*" ct state new add @${set} { ${key} ${over} } goto refused\n`,
  );
  return `table ${table} {
${sets.join('')}  chain refused { }
  chain forward { type filter hook forward priority -9; policy accept; }
}
flush table ${table}
${refusing(`add rule ${table} refused`)}${rules.join('')}`;
}

export const removedConnectionLimits = (folders: RuntimeFolders) => `add table ${tableOf(folders)}\ndelete table ${tableOf(folders)}\n`;

/** Refuses at once, so that nobody waits: with a reset for TCP, because the kernel holds back most other answers to a program that asks often. */
export const refusing = (begin: string) => `${begin} meta l4proto tcp reject with tcp reset\n${begin} reject with icmpx admin-prohibited\n`;
