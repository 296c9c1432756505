/** Names of their own under which environments answer, and whose registered names are. */
import type { Room } from '../../kernel/room.ts';
import { createDomainActivity, deleteDomainActivity, updateDomainActivity } from './activities.ts';
import * as claimOperations from './claim-operations.ts';
import * as operations from './operations.ts';

export const domains: Room = {
  name: 'Domains',
  about: 'Names of their own under which environments answer, and the registered names that they lie in.',
  operations: { ...operations, ...claimOperations },
  activities: { createDomainActivity, updateDomainActivity, deleteDomainActivity },
};
