/**
 * Networks as they should be, whatever others do to the machine's: a firewall that reloads flushes all rules, a tool that tidies up deletes bridges or
 * takes links down. We look all the time, and put right what is not as we made it. Rules come first: without them containers reach too much.
 */
import { readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename } from 'node:path';
import { tableOf } from './firewall.ts';
import { type Machine, networksTurn } from './lifecycle.ts';
import { type Attachment, allowForwarding, attachments, bridgeBatch, linkBatches, slotsInUse, writeFirewall } from './networks.ts';
import { type Places, bridgeOf, netnsOf, readText, vethOf } from './places.ts';
import type { Programs } from './processes.ts';
import { gatewayOf } from './slots.ts';
import { tokenFile } from './state.ts';

const lookMilliseconds = 2000;
const isUpFlag = 1;

/** Goes on until the function that is given back is called. */
export function keepNetworks({ places, programs, turns }: Machine, tell: (sentence: string) => void): () => Promise<void> {
  let looking: Promise<void> = Promise.resolve();
  let said = '';
  const look = async () => {
    try {
      const repaired = await repairNetworks(places, programs);
      for (const what of repaired) tell(`Somebody on this machine took away ${what}; it is made again.`);
      said = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== said)
        tell(`Networks of containers are not as they should be, and could not be put right; it is tried again: ${reason}`);
      said = reason;
    }
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    looking = turns.run(networksTurn, look).finally(() => (isLooking = false));
  }, lookMilliseconds);
  timer.unref();
  return () => {
    clearInterval(timer);
    return looking;
  };
}

/** Answers what was put right, in words. Only one caller at a time. */
export async function repairNetworks(places: Places, programs: Programs): Promise<string[]> {
  const slots = slotsInUse(places);
  if (slots.length === 0) return [];
  const repaired: string[] = [];
  const hasRules = (await programs.attempt('nft', ['list', 'table', ...tableOf(places).split(' ')])).code === 0;
  if (!hasRules) {
    await writeFirewall(places, programs);
    repaired.push('the rules of the firewall');
  }
  allowForwarding();
  const attached = attachments(places).filter(({ name }) => readText(tokenFile(places, name)) !== undefined);
  for (const slot of slots) {
    const members = attached.filter((attachment) => attachment.slot === slot);
    if (members.length > 0 && !isBridgeWhole(places, slot)) {
      // Errors about what is there already do not matter: only what is missing is made.
      await programs.attempt('ip', ['-force', '-batch', '-'], bridgeBatch(places, slot));
      repaired.push(`the bridge ${bridgeOf(places, slot)}`);
    }
    for (const member of members) if (await repairLink(places, programs, member)) repaired.push(`the link of ${member.name}`);
  }
  return repaired;
}

/** A bridge without members does not run, and is not listed. */
function isBridgeWhole(places: Places, slot: number): boolean {
  const addresses = networkInterfaces()[bridgeOf(places, slot)] ?? [];
  return isUp(bridgeOf(places, slot)) && addresses.some(({ address }) => address === gatewayOf(slot));
}

const isUp = (link: string) => (Number(readText(`/sys/class/net/${link}/flags`)) & isUpFlag) === isUpFlag;

async function repairLink(places: Places, programs: Programs, attachment: Attachment & { name: string }): Promise<boolean> {
  const { slot, host, name } = attachment;
  const veth = vethOf(places, slot, host);
  if (isUp(veth) && bridgeOfLink(veth) === bridgeOf(places, slot)) return false;
  const netns = netnsOf(places, name);
  const { inside, outside } = linkBatches(places, netns, attachment);
  await programs.attempt('ip', ['-force', '-batch', '-'], outside);
  await programs.attempt('nsenter', [`--net=${netns}`, 'ip', '-force', '-batch', '-'], inside);
  return isUp(veth);
}

function bridgeOfLink(link: string): string | undefined {
  try {
    return basename(readlinkSync(`/sys/class/net/${link}/master`));
  } catch {
    return undefined; // it is gone, or belongs to none
  }
}
