/** What runs for environments: deployments, and the containers, volumes and routes that follow from them. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { pruneDeployments } from './earlier-deployments.ts';
import { bringImages } from './running/bring-images.ts';
import { collectImages, updateImages } from './running/image-upkeep.ts';
import { keepAllocationsNoted } from './sizes/allocated.ts';
import { noteMachineAmounts } from './sizes/machine-amounts.ts';
import { collectStacks, keepDomainsReached, keepStacksRunning, keepVolumeLimits } from './running/reconcilers.ts';
import { sendIdleToSleep } from './running/sleep.ts';
import { wakeWhenVisited } from './running/wake-when-visited.ts';

export const deployments: Room = {
  name: 'Deployments',
  about: 'What runs for environments: applications, services and routes.',
  operations,
  reconcilers: [
    keepStacksRunning,
    keepDomainsReached,
    collectStacks,
    keepVolumeLimits,
    sendIdleToSleep,
    pruneDeployments,
    noteMachineAmounts,
    keepAllocationsNoted,
    bringImages,
    updateImages,
    collectImages,
  ],
  listeners: [wakeWhenVisited],
};
