/** What settings of autoscaling mean, in sentences. */
import { type ServiceSettings, type Trigger, type TriggerName, triggers } from '../../../api/size-queries.ts';

export const triggerNames: Readonly<Record<TriggerName, string>> = {
  cpu: 'CPU',
  memory: 'Memory',
  cpu_pressure: 'CPU pressure',
  memory_pressure: 'Memory pressure',
  latency: 'Latency',
};

export const triggerMeanings: Readonly<Record<TriggerName, string>> = {
  cpu: 'how much of its processors an instance uses, on average',
  memory: 'how much of its memory an instance uses, on average',
  cpu_pressure: 'for how much of the time something in an instance waits for a processor',
  memory_pressure: 'for how much of the time something in an instance waits for memory',
  latency: 'how long requests take, on average over a minute',
};

export const unitOf = (name: TriggerName) => (name === 'latency' ? 'ms' : '%');

export function secondsWords(seconds: number): string {
  const [amount, unit] =
    seconds % 3600 === 0 && seconds > 0 ? [seconds / 3600, 'hour'] : seconds % 60 === 0 ? [seconds / 60, 'minute'] : [seconds, 'second'];
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`;
}

const instances = (count: number) => `${count} instance${count === 1 ? '' : 's'}`;

/** "CPU above 80 % for 5 minutes". */
const conditionWords = (name: TriggerName, { up, down }: Trigger, direction: 'up' | 'down') => {
  const { threshold, duration } = direction === 'up' ? up : down;
  return `${triggerNames[name]} ${direction === 'up' ? 'above' : 'below'} ${threshold} ${unitOf(name)} for ${secondsWords(duration)}`;
};

/** What follows from the settings: between which bounds, when more come, when some go, and how quickly one change follows the other. */
export function settingsWords({
  triggers: of,
  instances: { min, max },
  scale_factor,
  scale_cooldown,
}: Omit<ServiceSettings, 'enabled'>): string[] {
  const on = triggers.flatMap((name) => {
    const trigger = of[name];
    return trigger?.enabled ? [{ name, trigger }] : [];
  });
  if (on.length === 0) return ['Nothing is scaled by itself: the number of instances is the one that you choose.'];
  const when = (direction: 'up' | 'down') =>
    on.filter(({ trigger }) => trigger[direction].enabled).map(({ name, trigger }) => conditionWords(name, trigger, direction));
  const [more, fewer] = [when('up'), when('down')];
  return [
    min === max ? `There are always ${instances(min)}.` : `There are at least ${instances(min)} and at most ${max}.`,
    more.length === 0 ? 'None is ever added.' : `${plus(scale_factor.up, 'more')} with ${more.join(', or ')}; ${pause(scale_cooldown.up)}.`,
    fewer.length === 0
      ? 'None ever goes.'
      : `${plus(scale_factor.down, 'fewer')} with ${fewer.join(', or ')}; ${pause(scale_cooldown.down)}.`,
    'Instances that stay are not touched, and no request fails.',
  ];
}

const plus = (count: number, word: string) => (count === 1 ? `One ${word}` : `${count} ${word} at once`);
const pause = (seconds: number) =>
  seconds === 0 ? 'the next change may follow at once' : `${secondsWords(seconds)} at least after the change before`;
