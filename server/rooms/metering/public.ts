/** What other rooms may know of metering: how to note what they give out, and what was used. */
export { buildSubject, deploymentSubject, endAllocated, endTask, noteAllocated, taskSubject, type Allocation } from './allocations.ts';
export type { Allocated, AllocatedKind } from './allocated.ts';
export { countForwarded, forgetCounted, type CountedForwarding } from './forwarded-logs.ts';
export { allocatedNow, usageDays, type AllocatedNow, type UsageDay } from './days.ts';
export { closedUntil, sumUsage, type UsageAsked, type UsageGrain, type UsageLevel, type UsageSum } from './sums.ts';
export { quantities, type Metered, type MeteredKind, type Quantities, type Quantity } from './usage-of-hour.ts';
