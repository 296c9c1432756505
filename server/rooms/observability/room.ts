/** What was measured of environments, for those who may see them. Who measures it writes to the store (drivers/metrics); here it is only read. */
import type { Room } from '../../kernel/room.ts';
import {
  listProfiledApplications,
  listProfileFilters,
  mergeProfilesOfApplication,
  tellProfileOfApplication,
} from './continuous-profiling.ts';
import { enterObservability } from './entrypoint.ts';
import { breakDownAddresses, breakDownUrls, breakDownUserAgents } from './http-traffic.ts';
import { countLogEntries, queryLogs } from './log-operations.ts';
import { getProfile, getProfileGraph, getProfileTimeline, getSubprofiles, listProfiles, listRecommendations } from './profiles.ts';
import { sumUpResources, tellResources, tellResourcesOfService } from './resources.ts';
import { tellServer } from './server-global.ts';
import { breakDownTransactions, listTopSpans, tellServerCaches } from './server-operations.ts';

export const observability: Room = {
  name: 'Observability',
  about: 'What requests took, what containers used, who visited, and what logs say.',
  operations: {
    enterObservability,
    tellServer,
    tellServerCaches,
    breakDownTransactions,
    listTopSpans,
    breakDownUrls,
    breakDownAddresses,
    breakDownUserAgents,
    tellResources,
    sumUpResources,
    tellResourcesOfService,
    queryLogs,
    countLogEntries,
    listProfiles,
    listRecommendations,
    getProfile,
    getSubprofiles,
    getProfileGraph,
    getProfileTimeline,
    listProfiledApplications,
    tellProfileOfApplication,
    mergeProfilesOfApplication,
    listProfileFilters,
  },
};
