/**
 * Networks: a bridge each, addresses on it, and the file in which containers find each other's names. A network is there while a container
 * has an address on it; which one has which is written down with the container before anything is made.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import type { Description } from './description.ts';
import { firewall, machineResolvers, removedFirewall } from './firewall.ts';
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
/** Inside it is mounted as a folder, so that a file that is replaced is seen. */
export const namesFolder = (places: Places, network: string) => join(places.networks, network, 'names');

export const attachedAddress = ({ slot, host }: Attachment) => addressOf(slot, host);

export function readAttachment(places: Places, name: string): Attachment | undefined {
  const [network, slot, host, ...names] = (readText(attachmentFile(places, name)) ?? '').split('\n');
  return network ? { network, slot: Number(slot), host: Number(host), names } : undefined;
}

const attachments = (places: Places) => entriesOf(places.runContainers).flatMap((name) => readAttachment(places, name) ?? []);

/** An address for the container, from now on its own; nothing is made yet. */
export function reserveAddress(places: Places, { name, network, names }: Description): Attachment {
  const slot = ensureSlot(places, network);
  const taken = new Set(attachments(places).flatMap((other) => (other.slot === slot ? other.host : [])));
  const host = Array.from({ length: hostsMax }, (_, index) => index + 2).find((host) => !taken.has(host));
  if (host === undefined) throw new Problem('unavailable', `The network ${network} has no address left: ${hostsMax} containers are in it.`);
  writeWhole(attachmentFile(places, name), [network, slot, host, ...names].join('\n'));
  return { network, slot, host, names };
}

function ensureSlot(places: Places, network: string): number {
  const known = readText(slotFile(places, network));
  if (known !== undefined) return Number(known);
  const slot = claimSlot(places);
  for (const folder of [join(places.networks, network), namesFolder(places, network)]) makeFolder(folder, 0o755);
  writeWhole(slotFile(places, network), String(slot));
  return slot;
}

const bridgeExists = (places: Places, slot: number) => existsSync(`/sys/class/net/${bridgeOf(places, slot)}`);

/** Callers take turns: a network must not go while another container comes. */
export async function ensureNetwork(places: Places, programs: Programs, { network, slot }: Attachment) {
  writeNames(places, network);
  if (bridgeExists(places, slot)) return;
  allowForwarding();
  const bridge = bridgeOf(places, slot);
  const batch = `link add ${bridge} address ${hardwareAddressOf(slot, 1)} type bridge
link set ${bridge} addrgenmode none
addr add ${gatewayOf(slot)}/25 dev ${bridge}
link set ${bridge} up
`;
  await programs.run('nft', ['-f', '-'], firewall(places, slotsInUse(places), machineResolvers()));
  await programs.run('ip', ['-batch', '-'], batch);
}

/** Of a container that is gone: its name, and the network where it was the last. Callers take turns. */
export async function leaveNetwork(places: Places, programs: Programs, { network, slot }: Attachment) {
  if (attachments(places).some((other) => other.network === network)) {
    // One that has only reserved its place writes the names itself, when it makes the network.
    if (existsSync(namesFolder(places, network))) writeNames(places, network);
    return;
  }
  if (bridgeExists(places, slot)) await programs.run('ip', ['link', 'delete', bridgeOf(places, slot)]);
  rmSync(join(places.networks, network), { recursive: true, force: true });
  releaseSlot(slot);
  await writeFirewall(places, programs);
}

/** Also after somebody has flushed all rules of the machine. */
export const writeFirewall = (places: Places, programs: Programs) => {
  const slots = slotsInUse(places);
  return programs.run('nft', ['-f', '-'], slots.length > 0 ? firewall(places, slots, machineResolvers()) : removedFirewall(places));
};

export const slotsInUse = (places: Places) =>
  entriesOf(places.networks)
    .flatMap((network) => readText(slotFile(places, network)) ?? [])
    .map(Number);

/** Networks without a container, claims without a network: what a kill left. */
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
    outside: `link add ${veth} type veth peer name eth0 address ${hardwareAddressOf(slot, host)} netns ${netns}
link set ${veth} addrgenmode none
link set ${veth} master ${bridgeOf(places, slot)} up
`,
  };
}

function writeNames(places: Places, network: string) {
  const lines = attachments(places)
    .filter((attachment) => attachment.network === network && attachment.names.length > 0)
    .map((attachment) => `${attachedAddress(attachment)} ${attachment.names.join(' ')}`);
  const folder = namesFolder(places, network);
  const files = {
    hosts: ['127.0.0.1 localhost', ...lines, ''].join('\n'),
    'resolv.conf': machineResolvers()
      .map((address) => `nameserver ${address}\n`)
      .join(''),
  };
  for (const [file, text] of Object.entries(files)) if (readText(join(folder, file)) !== text) writeWhole(join(folder, file), text, 0o644);
}

function allowForwarding() {
  const file = '/proc/sys/net/ipv4/ip_forward';
  if (readText(file)?.trim() !== '1') writeFileSync(file, '1');
}
