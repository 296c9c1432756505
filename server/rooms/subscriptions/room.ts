/** How projects come, are contracted, change and go. */
import type { Room } from '../../kernel/room.ts';
import * as activities from './activities.ts';
import * as account from './operations/account.ts';
import * as organizationProjects from './operations/organization-projects.ts';
import * as possibilities from './operations/possibilities.ts';
import * as projects from './operations/projects.ts';
import * as usageAlerts from './operations/usage-alerts.ts';
import * as subscriptionOperations from './operations/subscriptions.ts';
import { giveUpAbandonedCreations } from './reconcilers.ts';
import { tellOfUse } from './usage-alerts.ts';

export const subscriptions: Room = {
  name: 'Subscriptions',
  about: 'How projects come, are contracted, change and go.',
  operations: { ...subscriptionOperations, ...organizationProjects, ...possibilities, ...projects, ...account, ...usageAlerts },
  activities,
  reconcilers: [giveUpAbandonedCreations, tellOfUse],
};
