/**
 * Which container has an address. What was found is remembered and only checked the next time, because looking through all containers takes longer the more
 * there are, and whoever connects once connects again.
 */
import { attachedAddress, attachments, readAttachment } from './networks.ts';
import type { RuntimeFolders } from './runtime-folders.ts';

export interface Found {
  name: string;
  network: string;
}

export function openContainerAt(folders: RuntimeFolders): (address: string) => Found | undefined {
  const names = new Map<string, string>();
  const remembered = (address: string): Found | undefined => {
    const name = names.get(address);
    const attachment = name === undefined ? undefined : readAttachment(folders, name);
    return name !== undefined && attachment && attachedAddress(attachment) === address ? { name, network: attachment.network } : undefined;
  };
  return (address) => {
    const found = remembered(address) ?? attachments(folders).find((attachment) => attachedAddress(attachment) === address);
    if (found) names.set(address, found.name);
    else names.delete(address);
    return found && { name: found.name, network: found.network };
  };
}
