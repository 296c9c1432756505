/** The product on one screen. */
import type { Rooms } from './kernel/room.ts';
import { access } from './rooms/access/room.ts';
import { activities } from './rooms/activities/room.ts';
import { audit } from './rooms/audit/room.ts';
import { autoscaling } from './rooms/autoscaling/room.ts';
import { backups } from './rooms/backups/room.ts';
import { billing } from './rooms/billing/room.ts';
import { builds } from './rooms/builds/room.ts';
import { carbon } from './rooms/carbon/room.ts';
import { certificates } from './rooms/certificates/room.ts';
import { consoleRoom } from './rooms/console/room.ts';
import { crons } from './rooms/crons/room.ts';
import { deliveries } from './rooms/deliveries/room.ts';
import { deployments } from './rooms/deployments/room.ts';
import { domainNames } from './rooms/domain-names/room.ts';
import { domains } from './rooms/domains/room.ts';
import { entrance } from './rooms/entrance/room.ts';
import { environmentVariables } from './rooms/environment-variables/room.ts';
import { environments } from './rooms/environments/room.ts';
import { events } from './rooms/events/room.ts';
import { health } from './rooms/health/room.ts';
import { installation } from './rooms/installation/room.ts';
import { integrations } from './rooms/integrations/room.ts';
import { invitations } from './rooms/invitations/room.ts';
import { logs } from './rooms/logs/room.ts';
import { measuring } from './rooms/measuring/room.ts';
import { metering } from './rooms/metering/room.ts';
import { monitoring } from './rooms/monitoring/room.ts';
import { observability } from './rooms/observability/room.ts';
import { definedOperations } from './rooms/operations/room.ts';
import { organizations } from './rooms/organizations/room.ts';
import { prices } from './rooms/prices/room.ts';
import { profiles } from './rooms/profiles/room.ts';
import { projectTree } from './rooms/project-tree/room.ts';
import { projects } from './rooms/projects/room.ts';
import { recovery } from './rooms/recovery/room.ts';
import { references } from './rooms/references/room.ts';
import { regions } from './rooms/regions/room.ts';
import { relay } from './rooms/relay/room.ts';
import { security } from './rooms/security/room.ts';
import { signIn } from './rooms/sign-in/room.ts';
import { source } from './rooms/source/room.ts';
import { ssh } from './rooms/ssh/room.ts';
import { subscriptions } from './rooms/subscriptions/room.ts';
import { support } from './rooms/support/room.ts';
import { tasks } from './rooms/tasks/room.ts';
import { teams } from './rooms/teams/room.ts';
import { users } from './rooms/users/room.ts';
import { variables } from './rooms/variables/room.ts';

/** In the order in which they stand on each other: a room may use those above it in this list, by what their public.ts and work.ts offer, and none below. */
export const rooms: Rooms = [
  deliveries,
  users,
  signIn,
  security,
  profiles,
  organizations,
  activities,
  projects,
  teams,
  access,
  invitations,
  audit,
  metering,
  prices,
  regions,
  references,
  variables,
  domainNames,
  certificates,
  builds,
  deployments,
  environments,
  environmentVariables,
  autoscaling,
  domains,
  subscriptions,
  source,
  crons,
  tasks,
  definedOperations,
  backups,
  recovery,
  logs,
  measuring,
  projectTree,
  relay,
  carbon,
  observability,
  integrations,
  billing,
  support,
  health,
  ssh,
  entrance,
  events,
  consoleRoom,
  monitoring,
  installation,
];
