/**
 * Networks: a bridge each, addresses on it, and the file in which containers find each other's names. A network is there while a container
 * has an address on it; which one has which is written down with the container before anything is made.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import type { OutboundRule } from '../runtime.ts';
import type { Description } from './description.ts';
import { type Restriction, firewall, machineResolvers, removedFirewall } from './firewall.ts';
import { type Places, bridgeOf, bundleOf, entriesOf, makeFolder, readText, vethOf, writeWhole } from './places.ts';
import type { Programs } from './processes.ts';
import { addressOf, claimSlot, claimedSlots, gatewayOf, hardwareAddressOf, hostsMax, releaseSlot } from './slots.ts';

export interface Attachment {
  network: string;
  slot: number;
  host: number;
  names: readonly string[];
}

const attachmentFile = (places: Places, name: string) => join(bundleOf(places, name), 'network');
const slotFile = (places: Places, network: string) => join(places.networks, network, 'slot');
/** A line for each rule, ports and addresses; not there for those that may reach everything. */
const outboundFile = (places: Places, name: string) => join(bundleOf(places, name), 'outbound');
/** What goes into its own hosts file beside its neighbours; not there for those that share the file of the network. */
const hostsFile = (places: Places, name: string) => join(bundleOf(places, name), 'hosts');
/** Its group and its own name in it; not there for those that have no peers. */
const peerFile = (places: Places, name: string) => join(bundleOf(places, name), 'peer');
const peersPrefix = 'peers-';
/** Where a container finds the names of others. */
export const namesAt = '.offshoot/names';
export const peersFile = (group: string) => `/${namesAt}/${peersPrefix}${group}`;
const sharedNames = (places: Places, network: string) => join(places.networks, network, 'names');
const ownNames = (places: Places, name: string) => join(bundleOf(places, name), 'names');
/** The folder is mounted inside, rather than the file, so that a replaced file is seen. */
export const namesFolder = (places: Places, { name, network, hosts }: Pick<Description, 'name' | 'network' | 'hosts'>) =>
  hosts ? ownNames(places, name) : sharedNames(places, network);

export const attachedAddress = ({ slot, host }: Attachment) => addressOf(slot, host);

export function readAttachment(places: Places, name: string): Attachment | undefined {
  const [network, slot, host, ...names] = (readText(attachmentFile(places, name)) ?? '').split('\n');
  return network ? { network, slot: Number(slot), host: Number(host), names } : undefined;
}

export const attachments = (places: Places) =>
  entriesOf(places.runContainers).flatMap((name) => {
    const attachment = readAttachment(places, name);
    return attachment ? { ...attachment, name } : [];
  });

export const isRestricted = (places: Places, name: string) => existsSync(outboundFile(places, name));

function restrictions(places: Places): (Restriction & { name: string })[] {
  return attachments(places).flatMap(({ name, slot, host }) => {
    const text = readText(outboundFile(places, name));
    return text === undefined ? [] : { name, slot, host, outbound: outboundFrom(text) };
  });
}

const outboundText = (outbound: readonly OutboundRule[]) =>
  outbound.map(({ ports, ips }) => `${ports.join(',')} ${ips.join(',')}\n`).join('');

const outboundFrom = (text: string): OutboundRule[] =>
  [...text.matchAll(/^(.*) (.*)$/gm)].map(([, ports = '', ips = '']) => ({
    ports: ports.split(',').filter(Boolean).map(Number),
    ips: ips.split(',').filter(Boolean),
  }));

/** An address for the container, from now on its own; nothing is made yet. */
export function reserveAddress(places: Places, { name, network, names, hosts, outbound, peer }: Description): Attachment {
  const slot = ensureSlot(places, network);
  const taken = new Set(attachments(places).flatMap((other) => (other.slot === slot ? other.host : [])));
  const host = Array.from({ length: hostsMax }, (_, index) => index + 2).find((host) => !taken.has(host));
  if (host === undefined) throw new Problem('unavailable', `The network ${network} has no address left: ${hostsMax} containers are in it.`);
  if (outbound) writeWhole(outboundFile(places, name), outboundText(outbound));
  if (hosts) {
    makeFolder(ownNames(places, name), 0o755);
    const lines = Object.entries(hosts).map(([host, address]) => `${address} ${host}\n`);
    writeWhole(hostsFile(places, name), lines.join(''));
  }
  if (peer) writeWhole(peerFile(places, name), `${peer.group}\n${peer.name}`);
  writeWhole(attachmentFile(places, name), [network, slot, host, ...names].join('\n'));
  return { network, slot, host, names };
}

function ensureSlot(places: Places, network: string): number {
  const known = readText(slotFile(places, network));
  if (known !== undefined) return Number(known);
  const slot = claimSlot(places);
  for (const folder of [join(places.networks, network), sharedNames(places, network)]) makeFolder(folder, 0o755);
  writeWhole(slotFile(places, network), String(slot));
  return slot;
}

const bridgeExists = (places: Places, slot: number) => existsSync(`/sys/class/net/${bridgeOf(places, slot)}`);

/** Only one caller at a time: a network must not be removed while another container joins it. */
export async function ensureNetwork(places: Places, programs: Programs, { name }: Description, { network, slot }: Attachment) {
  writeNames(places, network);
  const isThere = bridgeExists(places, slot);
  // Rules come before the link: the container must not reach more than it may for a single moment.
  if (!isThere || isRestricted(places, name)) await writeFirewall(places, programs);
  if (isThere) return;
  allowForwarding();
  await programs.run('ip', ['-batch', '-'], bridgeBatch(places, slot));
}

export const bridgeBatch = (places: Places, slot: number) => {
  const bridge = bridgeOf(places, slot);
  return `link add ${bridge} address ${hardwareAddressOf(slot, 1)} type bridge
link set ${bridge} addrgenmode none
addr add ${gatewayOf(slot)}/25 dev ${bridge}
link set ${bridge} up
`;
};

/** Changes the rules of a container that runs. Only one caller at a time. */
export async function changeRestriction(places: Places, programs: Programs, name: string, outbound: readonly OutboundRule[] | undefined) {
  if (!outbound) return liftRestriction(places, programs, name);
  writeWhole(outboundFile(places, name), outboundText(outbound));
  await writeFirewall(places, programs);
}

/**
 * Also before the place of a container that is gone is given to another. The file goes last: after a kill in between this is found to do again.
 * Callers take turns.
 */
export async function liftRestriction(places: Places, programs: Programs, name: string) {
  if (!isRestricted(places, name)) return;
  await writeFirewall(places, programs, name);
  rmSync(outboundFile(places, name));
}

/** Removes the name of a container that is gone, and the network where it was the last. Only one caller at a time. */
export async function leaveNetwork(places: Places, programs: Programs, { network, slot }: Attachment) {
  if (attachments(places).some((other) => other.network === network)) {
    // A network that is only reserved gets its names when it is made.
    if (existsSync(sharedNames(places, network))) writeNames(places, network);
    return;
  }
  if (bridgeExists(places, slot)) await programs.run('ip', ['link', 'delete', bridgeOf(places, slot)]);
  rmSync(join(places.networks, network), { recursive: true, force: true });
  releaseSlot(slot);
  await writeFirewall(places, programs);
}

/** Writes all rules, even after somebody has flushed those of the machine. `unrestricted` is a container whose own rules no longer count. */
export const writeFirewall = (places: Places, programs: Programs, unrestricted?: string) => {
  const slots = slotsInUse(places);
  const counting = restrictions(places).filter(({ name }) => name !== unrestricted);
  const rules = slots.length > 0 ? firewall(places, slots, machineResolvers(), counting) : removedFirewall(places);
  return programs.run('nft', ['-f', '-'], rules);
};

export const slotsInUse = (places: Places) =>
  entriesOf(places.networks)
    .flatMap((network) => readText(slotFile(places, network)) ?? [])
    .map(Number);

/** Removes what a kill left: networks without a container, and claims without a network. */
export async function removeUnusedNetworks(places: Places, programs: Programs): Promise<string[]> {
  const removed: string[] = [];
  const used = new Set(attachments(places).map(({ network }) => network));
  for (const network of entriesOf(places.networks)) {
    if (used.has(network)) continue;
    removed.push(`network ${network}`);
    const slot = readText(slotFile(places, network));
    if (slot === undefined) rmSync(join(places.networks, network), { recursive: true, force: true });
    else await leaveNetwork(places, programs, { network, slot: Number(slot), host: 0, names: [] });
  }
  const slots = new Set(slotsInUse(places));
  for (const slot of claimedSlots(places)) if (!slots.has(slot)) releaseSlot(slot);
  return removed;
}

/** What prepare.pl gives to `ip`, inside the container's network namespace and outside of it. */
export function linkBatches(places: Places, netns: string, { slot, host }: Attachment): { inside: string; outside: string } {
  const veth = vethOf(places, slot, host);
  return {
    inside: `link set lo up
addr add ${addressOf(slot, host)}/25 dev eth0
link set eth0 up
route add default via ${gatewayOf(slot)}
`,
    outside: `link add ${veth} type veth peer name eth0 address ${hardwareAddressOf(slot, host)} netns "${netns}"
link set ${veth} addrgenmode none
link set ${veth} master ${bridgeOf(places, slot)} up
`,
  };
}

function writeNames(places: Places, network: string) {
  const all = attachments(places)
    .filter((attachment) => attachment.network === network)
    .map((attachment) => ({ ...attachment, address: attachedAddress(attachment), peer: readPeer(places, attachment.name) }));
  const lines = all.flatMap(({ address, names, peer }) => {
    const known = peer ? [...names, peer.name] : names;
    return known.length === 0 ? [] : `${address} ${known.join(' ')}`;
  });
  const hosts = ['127.0.0.1 localhost', ...lines, ''].join('\n');
  const resolvers = machineResolvers()
    .map((address) => `nameserver ${address}\n`)
    .join('');
  const shared = { 'resolv.conf': resolvers, ...peerLists(all) };
  writeNameFiles(sharedNames(places, network), { hosts, ...shared });
  for (const { name } of all) {
    const own = readText(hostsFile(places, name));
    if (own !== undefined) writeNameFiles(ownNames(places, name), { hosts: hosts + own, ...shared });
  }
}

function readPeer(places: Places, name: string): { group: string; name: string } | undefined {
  const [group, own] = (readText(peerFile(places, name)) ?? '').split('\n');
  return group !== undefined && own !== undefined ? { group, name: own } : undefined;
}

type Known = { address: string; peer: ReturnType<typeof readPeer> };

function peerLists(all: readonly Known[]): Record<string, string> {
  const groups = Map.groupBy(all, ({ peer }) => peer?.group);
  groups.delete(undefined);
  return Object.fromEntries(
    [...groups].map(([group, members]) => {
      const addresses = members.map(({ peer, address }) => [peer?.name ?? '', address] as const).sort(([a], [b]) => (a < b ? -1 : 1));
      return [`${peersPrefix}${group}`, `${JSON.stringify(Object.fromEntries(addresses))}\n`];
    }),
  );
}

function writeNameFiles(folder: string, files: Readonly<Record<string, string>>) {
  for (const file of entriesOf(folder)) if (file.startsWith(peersPrefix) && !(file in files)) rmSync(join(folder, file));
  for (const [file, text] of Object.entries(files)) if (readText(join(folder, file)) !== text) writeWhole(join(folder, file), text, 0o644);
}

export function allowForwarding() {
  const file = '/proc/sys/net/ipv4/ip_forward';
  if (readText(file)?.trim() !== '1') writeFileSync(file, '1');
}
