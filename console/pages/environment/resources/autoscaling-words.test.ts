import { expect, test } from 'vitest';
import type { Trigger } from '../../../api/size-queries.ts';
import { settingsWords } from './autoscaling-words.ts';

const trigger = (enabled: boolean, up: number, down: number): Trigger => ({
  enabled,
  up: { threshold: up, duration: 120, enabled: true },
  down: { threshold: down, duration: 600, enabled: true },
});
const rest = { instances: { min: 2, max: 6 }, scale_factor: { up: 2, down: 1 }, scale_cooldown: { up: 0, down: 600 } };

test('settings are said in sentences: bounds, when more come, when some go, and how quickly', () => {
  const latency = { ...trigger(true, 1000, 200), down: { threshold: 200, duration: 60, enabled: false } };
  expect(settingsWords({ ...rest, triggers: { cpu: trigger(true, 75, 25), memory: trigger(false, 80, 20), latency } })).toEqual([
    'There are at least 2 instances and at most 6.',
    '2 more at once with CPU above 75 % for 2 minutes, or Latency above 1000 ms for 2 minutes; the next change may follow at once.',
    'One fewer with CPU below 25 % for 10 minutes; 10 minutes at least after the change before.',
    'Instances that stay are not touched, and no request fails.',
  ]);
});

test('without a trigger nothing is scaled', () => {
  expect(settingsWords({ ...rest, triggers: { cpu: trigger(false, 75, 25) } })).toEqual([
    'Nothing is scaled by itself: the number of instances is the one that you choose.',
  ]);
});
