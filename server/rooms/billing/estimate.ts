/**
 * What a month will have come to, if things go on as they are: what is allocated now stays until the end of the month, what adds up goes on as on the average of the last
 * thirty days, and everything is reckoned as orders are. Of a month to come, all days are like that.
 */
import { dayAt, daysAfter, daysBetween, endOf, startOf, type Day } from '../../kernel/days.ts';
import type { Config } from '../../config.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { allocatedNow, quantities, usageDays, type AllocatedNow, type Quantity, type UsageDay } from '../metering/public.ts';
import { features, type Feature } from '../prices/public.ts';
import { usersOfOrganization } from './facts.ts';
import { endOfMonth, type Month } from './month.ts';
import { openOrderOf } from './orders.ts';
import { nobody } from './payer.ts';
import type { MonthFacts, UsersOfDay } from './reckon.ts';
import { workOut, type OrderAsked, type WorkedOut } from './work-out.ts';

export interface MonthEstimate extends WorkedOut {
  facts: MonthFacts;
  users: UsersOfDay;
  allocated: readonly AllocatedNow[];
}

export async function estimateMonth(
  db: Db | Tx,
  config: Pick<Config, 'region' | 'url'>,
  organizationId: string,
  month: Month,
  now: number,
  simulated: Pick<OrderAsked, 'withAllowance' | 'more'> = {},
): Promise<MonthEstimate> {
  const end = startOf(endOfMonth(month));
  const users = await usersOfOrganization(db, organizationId);
  const allocated = await allocatedNow(db, organizationId);
  const average = await dailyAverages(db, organizationId, now);
  // What the open order of the month takes of vouchers, it takes for what is estimated here.
  const order = await openOrderOf(db, organizationId, month);
  let projected: MonthFacts | undefined;
  const result = await workOut(db, config, { id: order?.id, organizationId, month, payer: nobody, ...simulated }, end, (facts) => {
    projected = goingOn(facts, { users, allocated, average, now });
    return projected;
  });
  if (!projected) throw new Error('An estimate has no facts');
  return { ...result, facts: projected, users, allocated };
}

interface Pace {
  users: UsersOfDay;
  allocated: readonly AllocatedNow[];
  average: readonly Average[];
  now: number;
}

function goingOn(facts: MonthFacts, { users, allocated, average, now }: Pace): MonthFacts {
  const days = daysBetween(facts.month, endOfMonth(facts.month)).filter((day) => endOf(day) > now);
  const usage = days.flatMap((day) => {
    const milliseconds = endOf(day) - Math.max(now, startOf(day));
    return [...allocated.map((each) => allocatedFor(each, day, milliseconds)), ...average.map((each) => addedIn(each, day, milliseconds))];
  });
  return {
    ...facts,
    projects: facts.projects.map((project) => ({
      ...project,
      usage: [...project.usage, ...usage.filter(({ project_id }) => project_id === project.id)],
    })),
    users: new Map([...facts.users, ...days.map((day) => [day, users] as const)]),
  };
}

const noSums = () => Object.fromEntries(quantities.map((quantity) => [quantity, 0n])) as UsageDay['sums'];
const whole = (value: number) => BigInt(Math.round(value));

/** Builds are not allocated for good: they add up. */
function allocatedFor({ project_id, kind, cpu, memory, disk }: AllocatedNow, day: Day, milliseconds: number): UsageDay {
  const sums = noSums();
  if (kind !== 'build') {
    sums.cpu_allocated = whole(cpu * milliseconds);
    sums.memory_allocated = whole((memory * milliseconds) / 1000);
    sums.storage_allocated = whole((disk * milliseconds) / 1000);
  }
  return { project_id, kind, day, sums };
}

const averagedDays = 30;
const dayMilliseconds = 86_400_000n;

interface Average extends Pick<UsageDay, 'project_id' | 'kind'> {
  sums: Partial<Record<Quantity, bigint>>;
  days: bigint;
}

const addingQuantities = Object.values<Feature>(features).flatMap(({ of, isAllocated }) => (of && !isAllocated ? [of] : []));

async function dailyAverages(db: Db | Tx, organizationId: string, now: number): Promise<Average[]> {
  const today = dayAt(now);
  const rows = await usageDays(db, organizationId, daysAfter(today, 1 - averagedDays), daysAfter(today, 1));
  const grouped = [...Map.groupBy(rows, ({ project_id, kind }) => `${project_id} ${kind}`).values()];
  return grouped.flatMap((days) => {
    const [first] = days;
    if (!first) return [];
    const { project_id, kind, day } = first;
    const adding = new Set(
      addingQuantities.filter(({ kinds }) => (kinds as readonly string[]).includes(kind)).map(({ quantity }) => quantity),
    );
    const sums = Object.fromEntries([...adding].map((quantity) => [quantity, days.reduce((sum, each) => sum + each.sums[quantity], 0n)]));
    return [{ project_id, kind, sums, days: BigInt(daysBetween(day, daysAfter(today, 1)).length) }];
  });
}

const addedIn = ({ project_id, kind, sums, days }: Average, day: Day, milliseconds: number): UsageDay => ({
  project_id,
  kind,
  day,
  sums: {
    ...noSums(),
    ...Object.fromEntries(
      Object.entries(sums).map(([quantity, sum]) => [quantity, (sum * BigInt(milliseconds)) / (days * dayMilliseconds)]),
    ),
  },
});
