/** What decides how many instances an app or worker has: what people said, and what holds where they said nothing. */
import { Type, type Static } from 'typebox';
import { closed, nullable } from '../../kernel/schema.ts';

/** `latency` is ours: what requests took at the edge, on average over a minute. */
export const triggerNames = ['cpu', 'memory', 'cpu_pressure', 'memory_pressure', 'latency'] as const;
export type TriggerName = (typeof triggerNames)[number];

export const directions = ['up', 'down'] as const;
export type Direction = (typeof directions)[number];

/** Seconds, as published. */
export const durations = [60, 120, 300, 600, 1800, 3600] as const;

const cooldownSecondsMax = 86_400;
const servicesMax = 200;
const latencyMillisecondsMax = 60_000;

const Threshold = Type.Number({ minimum: 0, maximum: 100, description: 'Percent.' });
const Latency = Type.Number({ minimum: 1, maximum: latencyMillisecondsMax, description: 'Milliseconds.' });
const Duration = Type.Integer({ enum: [...durations], description: 'Seconds: every minute of them has to be beyond the threshold.' });
const Count = Type.Integer({ minimum: 1 });
const Cooldown = Type.Integer({ minimum: 0, maximum: cooldownSecondsMax, description: 'Seconds from one change to the next.' });

/** `enabled` comes first: the released client reads what follows it as directions, and shows them with it. */
const triggerWith = (threshold: typeof Threshold) => {
  const Condition = Type.Object({ threshold, duration: Duration, enabled: Type.Boolean() });
  return Type.Object({ enabled: Type.Boolean(), up: Condition, down: Condition });
};
const Trigger = triggerWith(Threshold);

const Service = Type.Object({
  enabled: Type.Boolean({ description: 'Whether a trigger is on: then nobody else chooses the number of instances.' }),
  triggers: Type.Object({
    cpu: Trigger,
    memory: Trigger,
    cpu_pressure: Type.Optional(Trigger),
    memory_pressure: Type.Optional(Trigger),
    latency: Type.Optional(triggerWith(Latency)),
  }),
  instances: Type.Object({ min: Count, max: Count }),
  scale_factor: Type.Object({ up: Count, down: Count }),
  scale_cooldown: Type.Object({ up: Cooldown, down: Cooldown }),
});

const Defaults = Type.Object({
  triggers: Type.Object({ cpu: Trigger, memory: Trigger, cpu_pressure: Trigger, memory_pressure: Trigger }),
  instances: Type.Object({ min: Count, max: Count }),
  scale_factor: Type.Object({ up: Count, down: Count }),
  scale_cooldown: Type.Object({ up: Cooldown, down: Cooldown }),
});

/** What holds for each app and worker, said or not. */
export const AutoscalingSettings = Type.Object({
  defaults: Defaults,
  services: Type.Unsafe<Record<string, Static<typeof Service>>>({ type: 'object', additionalProperties: Service }),
});
export type AutoscalingSettings = Static<typeof AutoscalingSettings>;

export interface ServiceSettings extends Omit<Static<typeof Defaults>, 'triggers'> {
  enabled: boolean;
  triggers: Record<TriggerName, Static<typeof Trigger>>;
}

const orDefault = <T extends Parameters<typeof nullable>[0]>(schema: T) => Type.Optional(nullable(schema));
const saidTriggerWith = (threshold: typeof Threshold) => {
  const condition = closed({ threshold: orDefault(threshold), duration: orDefault(Duration), enabled: orDefault(Type.Boolean()) });
  return closed({ enabled: orDefault(Type.Boolean()), up: orDefault(condition), down: orDefault(condition) });
};
const SaidTrigger = saidTriggerWith(Threshold);
const each = <T extends Parameters<typeof nullable>[0]>(schema: T) => closed({ up: orDefault(schema), down: orDefault(schema) });

/** What somebody says about one app or worker. What is not named stays as it is, and null is the default again. */
export const SaidService = closed({
  triggers: orDefault(
    closed({
      cpu: orDefault(SaidTrigger),
      memory: orDefault(SaidTrigger),
      cpu_pressure: orDefault(SaidTrigger),
      memory_pressure: orDefault(SaidTrigger),
      latency: orDefault(saidTriggerWith(Latency)),
    }),
  ),
  instances: orDefault(closed({ min: orDefault(Count), max: orDefault(Count) })),
  scale_factor: orDefault(each(Count)),
  scale_cooldown: orDefault(each(Cooldown)),
});
export type SaidService = Static<typeof SaidService>;

/** Without `services`, or with null in its place, nothing changes. */
export const SettingsChange = closed({
  services: Type.Optional(
    Type.Unsafe<Record<string, SaidService | null> | null>({
      type: ['object', 'null'],
      additionalProperties: nullable(SaidService),
      maxProperties: servicesMax,
    }),
  ),
});
export type SettingsChange = Static<typeof SettingsChange>;

const trigger = (up: number, down: number): Static<typeof Trigger> => ({
  enabled: false,
  up: { threshold: up, duration: 300, enabled: true },
  down: { threshold: down, duration: 300, enabled: true },
});

/** Where nobody said anything about latency, which the published defaults do not have. */
const latencyDefault = trigger(1000, 200);

/** Of pressure, half of the time spent waiting is much. */
export const defaults = (instancesMax: number): Static<typeof Defaults> => ({
  triggers: { cpu: trigger(80, 20), memory: trigger(80, 20), cpu_pressure: trigger(50, 10), memory_pressure: trigger(50, 10) },
  instances: { min: 1, max: instancesMax },
  scale_factor: { up: 1, down: 1 },
  scale_cooldown: { up: 300, down: 300 },
});

/** A limit that was lowered after somebody named more holds all the same. */
export function settingsFrom(said: SaidService, instancesMax: number): ServiceSettings {
  const usual = defaults(instancesMax);
  const { triggers, instances, ...rest } = over({ ...usual, triggers: { ...usual.triggers, latency: latencyDefault } }, said);
  const max = Math.min(instances.max, instancesMax);
  return {
    ...rest,
    enabled: triggerNames.some((name) => triggers[name].enabled),
    triggers,
    instances: { min: Math.min(instances.min, max), max },
  };
}

/** As the API shows them: pressure and latency only where somebody said something about them. */
export function shownSettings(said: SaidService, instancesMax: number): AutoscalingSettings['services'][string] {
  const { triggers, ...settings } = settingsFrom(said, instancesMax);
  const { cpu, memory, cpu_pressure, memory_pressure, latency } = triggers;
  return {
    ...settings,
    triggers: {
      cpu,
      memory,
      ...(said.triggers?.cpu_pressure && { cpu_pressure }),
      ...(said.triggers?.memory_pressure && { memory_pressure }),
      ...(said.triggers?.latency && { latency }),
    },
  };
}

/** What was said before with what is said now; null takes back what was said. */
export const together = (before: SaidService, change: SaidService): SaidService => over(before, change, true);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function over<T extends object>(below: T, above: object, drops = false): T {
  const result = { ...below } as Record<string, unknown>;
  for (const [name, value] of Object.entries(above)) {
    const was = Object.hasOwn(result, name) ? result[name] : undefined;
    if (isObject(value)) result[name] = over(isObject(was) ? was : {}, value, drops);
    else if (value !== null) result[name] = value;
    else if (drops) delete result[name];
  }
  return result as T;
}
