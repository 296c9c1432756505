/**
 * Networks as they should be, whatever others do to the machine's: a firewall that reloads flushes all rules, a tool that tidies up deletes bridges or
 * takes links down. We look all the time, and put right what is not as we made it. Rules come first: without them containers reach too much.
 */
import { readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename } from 'node:path';
import { tableOf } from './firewall.ts';
import { type Machine, networksQueue } from './lifecycle.ts';
import { type Attachment, allowForwarding, attachments, bridgeBatch, linkBatches, slotsInUse, writeFirewall } from './networks.ts';
import { type RuntimeFolders, bridgeOf, netnsOf, readText, vethOf } from './runtime-folders.ts';
import type { Programs } from './processes.ts';
import { gatewayOf } from './network-slots.ts';
import { tokenFile } from './state.ts';

const lookMilliseconds = 2000;
const isUpFlag = 1;

/** Goes on until the function that is given back is called. */
export function keepNetworks({ folders, programs, queues }: Machine, tell: (sentence: string) => void): () => Promise<void> {
  let looking: Promise<void> = Promise.resolve();
  let said = '';
  const look = async () => {
    try {
      const repaired = await repairNetworks(folders, programs);
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
    looking = queues.run(networksQueue, look).finally(() => (isLooking = false));
  }, lookMilliseconds);
  timer.unref();
  return () => {
    clearInterval(timer);
    return looking;
  };
}

/** Answers what was put right, in words. Only one caller at a time. */
export async function repairNetworks(folders: RuntimeFolders, programs: Programs): Promise<string[]> {
  const slots = slotsInUse(folders);
  if (slots.length === 0) return [];
  const repaired: string[] = [];
  const hasRules = (await programs.attempt('nft', ['list', 'table', ...tableOf(folders).split(' ')])).code === 0;
  if (!hasRules) {
    await writeFirewall(folders, programs);
    repaired.push('the rules of the firewall');
  }
  allowForwarding();
  const attached = attachments(folders).filter(({ name }) => readText(tokenFile(folders, name)) !== undefined);
  for (const slot of slots) {
    const members = attached.filter((attachment) => attachment.slot === slot);
    if (members.length > 0 && !isBridgeWhole(folders, slot)) {
      // Errors about what is there already do not matter: only what is missing is made.
      await programs.attempt('ip', ['-force', '-batch', '-'], bridgeBatch(folders, slot));
      repaired.push(`the bridge ${bridgeOf(folders, slot)}`);
    }
    for (const member of members) if (await repairLink(folders, programs, member)) repaired.push(`the link of ${member.name}`);
  }
  return repaired;
}

/** A bridge without members does not run, and is not listed. */
function isBridgeWhole(folders: RuntimeFolders, slot: number): boolean {
  const addresses = networkInterfaces()[bridgeOf(folders, slot)] ?? [];
  return isUp(bridgeOf(folders, slot)) && addresses.some(({ address }) => address === gatewayOf(slot));
}

const isUp = (link: string) => (Number(readText(`/sys/class/net/${link}/flags`)) & isUpFlag) === isUpFlag;

async function repairLink(folders: RuntimeFolders, programs: Programs, attachment: Attachment & { name: string }): Promise<boolean> {
  const { slot, host, name } = attachment;
  const veth = vethOf(folders, slot, host);
  if (isUp(veth) && bridgeOfLink(veth) === bridgeOf(folders, slot)) return false;
  const netns = netnsOf(folders, name);
  const { inside, outside } = linkBatches(folders, netns, attachment);
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
