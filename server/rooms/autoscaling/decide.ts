/**
 * Whether an environment gets more instances, or fewer, and why. Nothing is looked up and nothing is done here: what was measured, the settings and the clock
 * decide.
 *
 * A condition holds when every minute of its duration that was measured, and that began after the last change, is beyond its threshold, and enough of them
 * were: without measurements nothing is ever scaled. More instances come before fewer. After a change of anything in the environment, everything in it waits.
 */
import { directions, triggerNames, type Direction, type ServiceSettings, type TriggerName } from './settings.ts';

/** Averages over the instances that ran, in percent, and of latency in milliseconds; `at` is when the minute began, in Unix seconds. */
export interface Minute extends Record<TriggerName, number> {
  at: number;
}

export interface ScaledService {
  name: string;
  count: number;
  settings: ServiceSettings;
  minutes: readonly Minute[];
}

export interface Situation {
  services: readonly ScaledService[];
  /** When something was last scaled, or was to be; Unix seconds. */
  lastAt: number | undefined;
  now: number;
}

export type Reason =
  | { kind: 'bound'; bound: 'min' | 'max'; instances: number }
  | { kind: 'trigger'; trigger: TriggerName; direction: Direction; threshold: number; duration: number; average: number };

export interface Decision {
  service: string;
  from: number;
  to: number;
  reason: Reason;
}

export const minuteSeconds = 60;
/** The share of a duration that has to be measured. */
const measuredShareMin = 0.8;
/** One of the newest minutes has to be there: what was long ago decides nothing. */
const newestMinutes = 2;

export const decide = ({ services, lastAt, now }: Situation): Decision[] =>
  services.flatMap((service) => {
    const { name, count, settings } = service;
    if (!settings.enabled) return [];
    const found = boundOf(service) ?? directions.map((direction) => scaled(service, direction, lastAt, now)).find((one) => one);
    return found && found.to !== count ? [{ service: name, from: count, ...found }] : [];
  });

type Found = Pick<Decision, 'to' | 'reason'>;

/** Bounds hold at once: somebody has just set them, or has deployed another number. */
function boundOf({ count, settings: { instances } }: ScaledService): Found | undefined {
  const bound = count < instances.min ? 'min' : count > instances.max ? 'max' : undefined;
  return bound && { to: instances[bound], reason: { kind: 'bound', bound, instances: instances[bound] } };
}

function scaled(service: ScaledService, direction: Direction, lastAt: number | undefined, now: number): Found | undefined {
  const { settings, count } = service;
  if (lastAt !== undefined && now - lastAt < settings.scale_cooldown[direction]) return undefined;
  return triggerNames
    .map((trigger) => fired(service, trigger, direction, lastAt, now))
    .flatMap((reason) => (reason ? [{ to: targetOf(service, reason), reason }] : []))
    .find(({ to }) => to !== count);
}

type Fired = Extract<Reason, { kind: 'trigger' }>;

/** Why the trigger wants a change; undefined where it does not. */
function fired(
  { settings, minutes }: ScaledService,
  trigger: TriggerName,
  direction: Direction,
  lastAt: number | undefined,
  now: number,
): Fired | undefined {
  const { enabled, [direction]: condition } = settings.triggers[trigger];
  if (!enabled || !condition.enabled) return undefined;
  const { threshold, duration } = condition;
  const values = measuredIn(minutes, duration, lastAt, now)?.map((minute) => minute[trigger]);
  if (!values?.every((value) => (direction === 'up' ? value > threshold : value < threshold))) return undefined;
  const average = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { kind: 'trigger', trigger, direction, threshold, duration, average };
}

/** The whole minutes of the duration until now; undefined where too few of them were measured. */
function measuredIn(minutes: readonly Minute[], duration: number, lastAt: number | undefined, now: number): Minute[] | undefined {
  const end = Math.floor(now / minuteSeconds) * minuteSeconds;
  const since = Math.max(end - duration, lastAt ?? 0);
  const measured = minutes.filter(({ at }) => at >= since && at + minuteSeconds <= end);
  const isEnough = measured.length >= Math.ceil((duration / minuteSeconds) * measuredShareMin);
  const isNew = measured.some(({ at }) => at >= end - newestMinutes * minuteSeconds);
  return isEnough && isNew ? measured : undefined;
}

/** As many as a step says, within the bounds. No more go than would have to come back: those that stay take over the load of those that go. */
function targetOf({ count, settings }: ScaledService, { trigger, direction, average }: Fired): number {
  const { instances, scale_factor, triggers } = settings;
  if (direction === 'up') return Math.min(count + scale_factor.up, instances.max);
  const { up } = triggers[trigger];
  const needed = up.enabled && up.threshold > 0 ? Math.ceil((average * count) / up.threshold) : 1;
  return Math.min(count, Math.max(count - scale_factor.down, instances.min, needed));
}
