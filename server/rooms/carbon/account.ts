/** The account of some projects, or of one environment, over a time: closed days as they were written down, open ones as far as they were measured. */
import type { Usage } from '../../drivers/metrics/metrics.ts';
import { Problem } from '../../kernel/problem.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { dayAfter, dayAt, daysBetween, type Day } from '../../kernel/days.ts';
import { accountOfDay, parts, type Charge, type DayAccount, type Energy } from './energy.ts';
import { hourlyUsageOf } from './hourly-usage.ts';
import { methodOf } from './method.ts';
import { closedSums, firstOpenDay, methodAtEnd, notedMethods } from './queries.ts';
import { startIn, type TimeFrame } from './time-frame.ts';

export interface Whose {
  projects: readonly string[];
  /** The machine name of one environment. Undefined: all that the projects have, and had. */
  environment?: string | undefined;
}

/** What was charged in each interval of the frame, by project. */
export type Charges = Map<string, Map<Day, Charge>>;

export async function chargesOf(platform: Platform, whose: Whose, frame: TimeFrame, now: number): Promise<Charges> {
  const firstOpen = await firstOpenDay(platform.db, now);
  const charges: Charges = new Map();
  const closedTo = firstOpen < frame.to ? firstOpen : frame.to;
  for (const { project_id, start, ...sums } of await closedSums(platform.db, whose, { ...frame, to: closedTo }))
    charge(charges, project_id, start, chargeOf(sums));
  if (firstOpen >= frame.to || dayAt(now) < frame.from) return charges;
  for (const [day, { environments }] of await openDays(platform, firstOpen, now)) {
    if (day < frame.from || day >= frame.to) continue;
    for (const { project, environment, ...theirs } of environments)
      if (whose.projects.includes(project) && (whose.environment ?? environment) === environment)
        charge(charges, project, startIn(frame, day), theirs);
  }
  return charges;
}

const chargeOf = ({ emissions, ...energy }: Record<keyof Energy | 'emissions', string>): Charge => ({
  energy: Object.fromEntries(parts.map((part) => [part, BigInt(energy[part])])) as Energy,
  emissions: BigInt(emissions),
});

export const nothing: Charge = { energy: { processors: 0n, idle: 0n, memory: 0n, disk: 0n, network: 0n }, emissions: 0n };

export const added = (one: Charge, other: Charge): Charge => ({
  energy: Object.fromEntries(parts.map((part) => [part, one.energy[part] + other.energy[part]])) as Energy,
  emissions: one.emissions + other.emissions,
});

function charge(charges: Charges, project: string, start: Day, more: Charge) {
  const ofProject = charges.get(project) ?? new Map<Day, Charge>();
  ofProject.set(start, added(ofProject.get(start) ?? nothing, more));
  charges.set(project, ofProject);
}

/** The measurements of a day are many, and dashboards ask often: the same answer is good for so long. */
const openDaysKeptMilliseconds = 60_000;

interface OpenDays {
  since: Day;
  at: number;
  days: Promise<Map<Day, DayAccount>>;
}

const lastOpenDays = stateOf<Platform, { last?: OpenDays }>(() => ({}));

/** What was measured since the last day that is closed. */
function openDays(platform: Platform, since: Day, now: number): Promise<Map<Day, DayAccount>> {
  const state = lastOpenDays(platform);
  const { last } = state;
  if (last && last.since === since && now >= last.at && now - last.at < openDaysKeptMilliseconds) return last.days;
  const asked: OpenDays = { since, at: now, days: readOpenDays(platform, since, now) };
  state.last = asked;
  asked.days.catch(() => {
    if (state.last === asked) delete state.last;
  });
  return asked.days;
}

async function readOpenDays({ db, metrics, config }: Platform, since: Day, now: number): Promise<Map<Day, DayAccount>> {
  const until = dayAfter(dayAt(now));
  const usage = await hourlyUsageOf(metrics)(since, until).catch((cause: unknown) => {
    throw new Problem('unavailable', 'What was measured lately cannot be read just now; try again in a moment.', { cause });
  });
  const noted = await notedMethods(db);
  const byDay = Map.groupBy(usage, ({ hour }: Usage) => dayAt(hour * 1000));
  const method = (day: Day) => methodAtEnd(noted, day)?.method ?? methodOf(config);
  return new Map(daysBetween(since, until).map((day) => [day, accountOfDay(byDay.get(day) ?? [], method(day))]));
}
