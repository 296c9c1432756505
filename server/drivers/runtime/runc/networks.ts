/**
 * Networks: a bridge each, addresses on it, and the file in which containers find each other's names. A network is there while a container
 * has an address on it; which one has which is written down with the container before anything is made.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import { type AdmittedPort, machineHost, type OutboundRule } from '../runtime.ts';
import { admittedPorts, noteAdmittedPort } from './admitted-ports.ts';
import type { Description } from './description.ts';
import { type Restriction, firewall, machineResolvers, removedFirewall } from './firewall.ts';
import { type RuntimeFolders, bridgeOf, bundleOf, entriesOf, makeFolder, readText, vethOf, writeWhole } from './runtime-folders.ts';
import type { Programs } from './processes.ts';
import { addressOf, claimSlot, claimedSlots, gatewayOf, hardwareAddressOf, hostsMax, releaseSlot } from './network-slots.ts';

export interface Attachment {
  network: string;
  slot: number;
  host: number;
  names: readonly string[];
}

const attachmentFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'network');
const slotFile = (folders: RuntimeFolders, network: string) => join(folders.networks, network, 'slot');
/** A line for each rule, ports and addresses; not there for those that may reach everything. */
const outboundFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'outbound');
/** What goes into its own hosts file beside its neighbours; not there for those that share the file of the network. */
const hostsFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'hosts');
/** Its group and its own name in it; not there for those that have no peers. */
const peerFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'peer');
const peersPrefix = 'peers-';
/** Where a container finds the names of others. */
export const namesAt = '.offshoot/names';
export const peersFile = (group: string) => `/${namesAt}/${peersPrefix}${group}`;
const sharedNames = (folders: RuntimeFolders, network: string) => join(folders.networks, network, 'names');
const ownNames = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'names');
/** The folder is mounted inside, rather than the file, so that a replaced file is seen. */
export const namesFolder = (folders: RuntimeFolders, { name, network, hosts }: Pick<Description, 'name' | 'network' | 'hosts'>) =>
  hosts ? ownNames(folders, name) : sharedNames(folders, network);

export const attachedAddress = ({ slot, host }: Attachment) => addressOf(slot, host);

export function readAttachment(folders: RuntimeFolders, name: string): Attachment | undefined {
  const [network, slot, host, ...names] = (readText(attachmentFile(folders, name)) ?? '').split('\n');
  return network ? { network, slot: Number(slot), host: Number(host), names } : undefined;
}

export const attachments = (folders: RuntimeFolders) =>
  entriesOf(folders.runContainers).flatMap((name) => {
    const attachment = readAttachment(folders, name);
    return attachment ? { ...attachment, name } : [];
  });

export const isRestricted = (folders: RuntimeFolders, name: string) => existsSync(outboundFile(folders, name));

function restrictions(folders: RuntimeFolders): (Restriction & { name: string })[] {
  return attachments(folders).flatMap(({ name, slot, host }) => {
    const text = readText(outboundFile(folders, name));
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
export function reserveAddress(folders: RuntimeFolders, { name, network, names, hosts, outbound, peer }: Description): Attachment {
  const slot = ensureSlot(folders, network);
  const taken = new Set(attachments(folders).flatMap((other) => (other.slot === slot ? other.host : [])));
  const host = Array.from({ length: hostsMax }, (_, index) => index + 2).find((host) => !taken.has(host));
  if (host === undefined) throw new Problem('unavailable', `The network ${network} has no address left: ${hostsMax} containers are in it.`);
  if (outbound) writeWhole(outboundFile(folders, name), outboundText(outbound));
  if (hosts) {
    makeFolder(ownNames(folders, name), 0o755);
    const lines = Object.entries(hosts).map(([host, address]) => `${address} ${host}\n`);
    writeWhole(hostsFile(folders, name), lines.join(''));
  }
  if (peer) writeWhole(peerFile(folders, name), `${peer.group}\n${peer.name}`);
  writeWhole(attachmentFile(folders, name), [network, slot, host, ...names].join('\n'));
  return { network, slot, host, names };
}

function ensureSlot(folders: RuntimeFolders, network: string): number {
  const known = readText(slotFile(folders, network));
  if (known !== undefined) return Number(known);
  const slot = claimSlot(folders);
  for (const folder of [join(folders.networks, network), sharedNames(folders, network)]) makeFolder(folder, 0o755);
  writeWhole(slotFile(folders, network), String(slot));
  return slot;
}

const bridgeExists = (folders: RuntimeFolders, slot: number) => existsSync(`/sys/class/net/${bridgeOf(folders, slot)}`);

/** Only one caller at a time: a network must not be removed while another container joins it. */
export async function ensureNetwork(folders: RuntimeFolders, programs: Programs, { name }: Description, { network, slot }: Attachment) {
  writeNames(folders, network);
  const isThere = bridgeExists(folders, slot);
  // Rules come before the link: the container must not reach more than it may for a single moment.
  if (!isThere || isRestricted(folders, name)) await writeFirewall(folders, programs);
  if (isThere) return;
  allowForwarding();
  await programs.run('ip', ['-batch', '-'], bridgeBatch(folders, slot));
}

export const bridgeBatch = (folders: RuntimeFolders, slot: number) => {
  const bridge = bridgeOf(folders, slot);
  return `link add ${bridge} address ${hardwareAddressOf(slot, 1)} type bridge
link set ${bridge} addrgenmode none
addr add ${gatewayOf(slot)}/25 dev ${bridge}
link set ${bridge} up
`;
};

/** Lets all containers reach a port of the machine. Only one caller at a time. */
export async function admitPort(folders: RuntimeFolders, programs: Programs, port: AdmittedPort) {
  noteAdmittedPort(folders, port);
  await writeFirewall(folders, programs);
}

/** Changes the rules of a container that runs. Only one caller at a time. */
export async function changeRestriction(
  folders: RuntimeFolders,
  programs: Programs,
  name: string,
  outbound: readonly OutboundRule[] | undefined,
) {
  if (!outbound) return liftRestriction(folders, programs, name);
  writeWhole(outboundFile(folders, name), outboundText(outbound));
  await writeFirewall(folders, programs);
}

/**
 * Also before the place of a container that is gone is given to another. The file goes last: after a kill in between this is found to do again.
 * Callers take turns.
 */
export async function liftRestriction(folders: RuntimeFolders, programs: Programs, name: string) {
  if (!isRestricted(folders, name)) return;
  await writeFirewall(folders, programs, name);
  rmSync(outboundFile(folders, name));
}

/** Removes the name of a container that is gone, and the network where it was the last. Only one caller at a time. */
export async function leaveNetwork(folders: RuntimeFolders, programs: Programs, { network, slot }: Attachment) {
  if (attachments(folders).some((other) => other.network === network)) {
    // A network that is only reserved gets its names when it is made.
    if (existsSync(sharedNames(folders, network))) writeNames(folders, network);
    return;
  }
  if (bridgeExists(folders, slot)) await programs.run('ip', ['link', 'delete', bridgeOf(folders, slot)]);
  rmSync(join(folders.networks, network), { recursive: true, force: true });
  releaseSlot(slot);
  await writeFirewall(folders, programs);
}

/** Writes all rules, even after somebody has flushed those of the machine. `unrestricted` is a container whose own rules no longer count. */
export const writeFirewall = (folders: RuntimeFolders, programs: Programs, unrestricted?: string) => {
  const slots = slotsInUse(folders);
  const counting = restrictions(folders).filter(({ name }) => name !== unrestricted);
  const rules =
    slots.length > 0 ? firewall(folders, slots, machineResolvers(), counting, admittedPorts(folders)) : removedFirewall(folders);
  return programs.run('nft', ['-f', '-'], rules);
};

export const slotsInUse = (folders: RuntimeFolders) =>
  entriesOf(folders.networks)
    .flatMap((network) => readText(slotFile(folders, network)) ?? [])
    .map(Number);

/** Removes what a kill left: networks without a container, and claims without a network. */
export async function removeUnusedNetworks(folders: RuntimeFolders, programs: Programs): Promise<string[]> {
  const removed: string[] = [];
  const used = new Set(attachments(folders).map(({ network }) => network));
  for (const network of entriesOf(folders.networks)) {
    if (used.has(network)) continue;
    removed.push(`network ${network}`);
    const slot = readText(slotFile(folders, network));
    if (slot === undefined) rmSync(join(folders.networks, network), { recursive: true, force: true });
    else await leaveNetwork(folders, programs, { network, slot: Number(slot), host: 0, names: [] });
  }
  const slots = new Set(slotsInUse(folders));
  for (const slot of claimedSlots(folders)) if (!slots.has(slot)) releaseSlot(slot);
  return removed;
}

/** What prepare.pl gives to `ip`, inside the container's network namespace and outside of it. */
export function linkBatches(folders: RuntimeFolders, netns: string, { slot, host }: Attachment): { inside: string; outside: string } {
  const veth = vethOf(folders, slot, host);
  return {
    inside: `link set lo up
addr add ${addressOf(slot, host)}/25 dev eth0
link set eth0 up
route add default via ${gatewayOf(slot)}
`,
    outside: `link add ${veth} type veth peer name eth0 address ${hardwareAddressOf(slot, host)} netns "${netns}"
link set ${veth} addrgenmode none
link set ${veth} master ${bridgeOf(folders, slot)} up
`,
  };
}

function writeNames(folders: RuntimeFolders, network: string) {
  const all = attachments(folders)
    .filter((attachment) => attachment.network === network)
    .map((attachment) => ({ ...attachment, address: attachedAddress(attachment), peer: readPeer(folders, attachment.name) }));
  const lines = all.flatMap(({ address, names, peer }) => {
    const known = peer ? [...names, peer.name] : names;
    return known.length === 0 ? [] : `${address} ${known.join(' ')}`;
  });
  const machine = all.slice(0, 1).map(({ slot }) => `${gatewayOf(slot)} ${machineHost}`);
  const hosts = ['127.0.0.1 localhost', ...machine, ...lines, ''].join('\n');
  const resolvers = machineResolvers()
    .map((address) => `nameserver ${address}\n`)
    .join('');
  const shared = { 'resolv.conf': resolvers, ...peerLists(all) };
  writeNameFiles(sharedNames(folders, network), { hosts, ...shared });
  for (const { name } of all) {
    const own = readText(hostsFile(folders, name));
    if (own !== undefined) writeNameFiles(ownNames(folders, name), { hosts: hosts + own, ...shared });
  }
}

function readPeer(folders: RuntimeFolders, name: string): { group: string; name: string } | undefined {
  const [group, own] = (readText(peerFile(folders, name)) ?? '').split('\n');
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
