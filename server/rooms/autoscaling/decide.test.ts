import { describe, expect, test } from 'vitest';
import { decide, type Decision, type Minute, type ScaledService } from './decide.ts';
import { settingsFrom, type SaidService } from './settings.ts';

const instancesMax = 8;
const on = { triggers: { cpu: { enabled: true } } } satisfies SaidService;
/** A whole minute, so that the minutes before it are whole ones. */
const noon = 1_800_000_000;

const minute = (at: number, values: Partial<Minute> = {}): Minute => ({
  cpu: 50,
  memory: 50,
  cpu_pressure: 20,
  latency: 50,
  memory_pressure: 20,
  ...values,
  at,
});

/** The last minutes before noon, the newest last. */
const last = (values: readonly (Partial<Minute> | undefined)[]): Minute[] =>
  values.flatMap((value, nth) => (value ? minute(noon - (values.length - nth) * 60, value) : []));
const every = (count: number, value: Partial<Minute>) => last(Array.from({ length: count }, () => value));

const service = (changes: Partial<ScaledService> = {}, said: SaidService = on): ScaledService => ({
  name: 'app',
  count: 2,
  settings: settingsFrom(said, instancesMax),
  minutes: [],
  ...changes,
});
const decided = (one: ScaledService, lastAt?: number, now = noon) => decide({ services: [one], lastAt, now });
const countAfter = (one: ScaledService, lastAt?: number, now = noon) => decided(one, lastAt, now)[0]?.to ?? one.count;

describe('an app', () => {
  test('gets an instance more when every minute of the duration is above the threshold', () => {
    expect(decided(service({ minutes: every(5, { cpu: 91 }) }))).toEqual([
      {
        service: 'app',
        from: 2,
        to: 3,
        reason: { kind: 'trigger', trigger: 'cpu', direction: 'up', threshold: 80, duration: 300, average: 91 },
      },
    ]);
    expect(countAfter(service({ minutes: last([{ cpu: 91 }, { cpu: 91 }, { cpu: 80 }, { cpu: 91 }, { cpu: 91 }]) }))).toBe(2);
  });

  test('loses one when every minute is below the other threshold, and never its last', () => {
    expect(decided(service({ minutes: every(5, { cpu: 3 }) }))).toMatchObject([{ to: 1, reason: { direction: 'down', threshold: 20 } }]);
    expect(decided(service({ count: 1, minutes: every(5, { cpu: 0 }) }))).toEqual([]);
  });

  test.each(['memory', 'cpu_pressure', 'memory_pressure'] as const)(
    'is scaled by %s where that trigger is on, and only then',
    (trigger) => {
      const minutes = every(5, { [trigger]: 99 });
      expect(countAfter(service({ minutes }, { triggers: { [trigger]: { enabled: true } } }))).toBe(3);
      expect(countAfter(service({ minutes }))).toBe(2);
    },
  );

  test('gets more where one trigger asks for more and another for fewer', () => {
    const both: SaidService = { triggers: { cpu: { enabled: true }, memory: { enabled: true } } };
    expect(countAfter(service({ minutes: every(5, { cpu: 1, memory: 95 }) }, both))).toBe(3);
  });

  test('is scaled in the directions that are on', () => {
    const said: SaidService = { triggers: { cpu: { enabled: true, down: { enabled: false } } } };
    expect(countAfter(service({ minutes: every(5, { cpu: 1 }) }, said))).toBe(2);
    expect(countAfter(service({ minutes: every(5, { cpu: 99 }) }, said))).toBe(3);
  });

  test('changes by as many as a step says, within its bounds', () => {
    const said: SaidService = { ...on, scale_factor: { up: 3, down: 4 }, instances: { min: 2, max: 4 } };
    expect(countAfter(service({ minutes: every(5, { cpu: 99 }) }, said))).toBe(4);
    expect(countAfter(service({ count: 4, minutes: every(5, { cpu: 1 }) }, said))).toBe(2);
  });

  test('is brought within its bounds at once, whatever was measured', () => {
    const said: SaidService = { ...on, instances: { min: 3, max: 5 } };
    expect(decided(service({ count: 1 }, said), noon - 1)).toMatchObject([{ to: 3, reason: { kind: 'bound', bound: 'min' } }]);
    expect(decided(service({ count: 8 }, said), noon - 1)).toMatchObject([{ to: 5, reason: { kind: 'bound', bound: 'max' } }]);
  });

  test('keeps what would have to come back at once', () => {
    const said: SaidService = { triggers: { cpu: { enabled: true, up: { threshold: 50 }, down: { threshold: 45 } } } };
    expect(countAfter(service({ minutes: every(5, { cpu: 30 }) }, said))).toBe(2);
    expect(countAfter(service({ count: 4, minutes: every(5, { cpu: 20 }) }, { ...said, scale_factor: { down: 3 } }))).toBe(2);
  });

  test('is left alone while it is off', () => {
    expect(decided(service({ count: 1, minutes: every(5, { cpu: 99 }) }, { instances: { min: 3 } }))).toEqual([]);
  });
});

describe('without measurements', () => {
  test('nothing is scaled, nor with fewer than four fifths of them', () => {
    expect(countAfter(service())).toBe(2);
    const hot = { cpu: 99 };
    expect(countAfter(service({ minutes: last([hot, undefined, hot, undefined, hot]) }))).toBe(2);
    expect(countAfter(service({ minutes: last([hot, undefined, hot, hot, hot]) }))).toBe(3);
  });

  test('of the newest minutes, what was before them decides nothing', () => {
    const said: SaidService = { triggers: { cpu: { enabled: true, up: { duration: 3600 } } } };
    const until = (missing: number) => every(60, { cpu: 99 }).slice(0, 60 - missing);
    expect(countAfter(service({ minutes: until(1) }, said))).toBe(3);
    expect(countAfter(service({ minutes: until(2) }, said))).toBe(2);
  });

  test('a minute that is not over does not count, nor one from the future', () => {
    const minutes = Array.from({ length: 5 }, (_, nth) => minute(noon + nth * 60, { cpu: 99 }));
    expect(countAfter(service({ minutes }), undefined, noon + 30)).toBe(2);
  });
});

describe('after a change', () => {
  test('everything waits for the cooldown of its direction', () => {
    const said: SaidService = { ...on, scale_cooldown: { up: 600, down: 300 } };
    const hot = service({ minutes: every(10, { cpu: 99 }) }, said);
    const idle = service({ minutes: every(10, { cpu: 1 }) }, said);
    expect([countAfter(hot, noon - 599), countAfter(hot, noon - 600)]).toEqual([2, 3]);
    expect([countAfter(idle, noon - 299), countAfter(idle, noon - 300)]).toEqual([2, 1]);
  });

  test('minutes before it say nothing about what runs now', () => {
    const said: SaidService = { ...on, scale_cooldown: { up: 0, down: 0 } };
    const hot = service({ minutes: every(10, { cpu: 99 }) }, said);
    expect([countAfter(hot, noon - 180), countAfter(hot, noon - 240)]).toEqual([2, 3]);
  });
});

/** The same numbers between 0 and 1 for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const daySeconds = 86_400;
const lookSeconds = 30;

interface Day {
  said: SaidService;
  count: number;
  /** What all instances need together, in percent of one; undefined: nobody measured it. */
  load: (second: number) => number | undefined;
  /** Whether the platform runs, and looks. */
  isUp?: (second: number) => boolean;
  /** How far the clock is from the truth. */
  clockError?: (second: number) => number;
}

/** Lives through a day as the platform does: a minute is measured when it is over, and decided upon every half minute. */
function live({ said, count: first, load, isUp = () => true, clockError = () => 0 }: Day) {
  const settings = settingsFrom(said, instancesMax);
  const minutes: Minute[] = [];
  const changes: (Decision & { second: number })[] = [];
  let count = first;
  let lastAt: number | undefined;
  for (let second = 0; second < daySeconds; second += lookSeconds) {
    const clock = noon + second + clockError(second);
    const needed = load(second);
    if (second % 60 === 0 && needed !== undefined) minutes.push(minute(clock - 60, { cpu: Math.min(100, needed / count) }));
    if (!isUp(second)) continue;
    if (lastAt !== undefined && lastAt > clock + 60) lastAt = clock;
    const recent = minutes.slice(-70);
    for (const decision of decide({ services: [{ name: 'app', count, settings, minutes: recent }], lastAt, now: clock })) {
      changes.push({ ...decision, second });
      count = decision.to;
      lastAt = clock;
    }
  }
  return { changes, count };
}

const randomSaid = (random: () => number): SaidService => {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const [min, up] = [1 + Math.floor(random() * 3), 30 + Math.floor(random() * 65)];
  return {
    triggers: {
      cpu: {
        enabled: true,
        up: { threshold: up, duration: pick([60, 120, 300, 600]) },
        down: { threshold: Math.floor(random() * up), duration: pick([60, 300, 1800]) },
      },
    },
    instances: { min, max: min + Math.floor(random() * (instancesMax - min + 1)) },
    scale_factor: { up: 1 + Math.floor(random() * 3), down: 1 + Math.floor(random() * 3) },
    scale_cooldown: { up: pick([0, 60, 300, 900]), down: pick([0, 60, 300, 900]) },
  };
};

const loads: Record<string, (random: () => number) => (second: number) => number | undefined> = {
  'a steady load': (random) => {
    const load = random() * 900;
    return () => load;
  },
  spikes: (random) => {
    const every_ = 1800 + random() * 7200;
    return (second) => (second % every_ < 900 ? 700 : 15);
  },
  'a load that goes up and down all the time': (random) => {
    const [period, height] = [60 + random() * 3600, 200 + random() * 400];
    return (second) => height * (1 + Math.sin((second / period) * 2 * Math.PI));
  },
  noise: (random) => () => random() * 900,
  'noise of which much is not measured': (random) => () => (random() < 0.3 ? undefined : random() * 900),
};

describe.each(Object.entries(loads))('over days of %s', (_, loadFrom) => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('bounds and cooldowns hold, whatever the settings (seed %i)', (seed) => {
    const random = randomFrom(seed);
    const said = randomSaid(random);
    const { instances, scale_cooldown } = settingsFrom(said, instancesMax);
    const kills = 600 + random() * 20_000;
    const { changes } = live({ said, count: 1, load: loadFrom(random), isUp: (second) => second % kills > 400 });
    for (const [nth, { to, from, second }] of changes.entries()) {
      expect(to).toBeGreaterThanOrEqual(instances.min);
      expect(to).toBeLessThanOrEqual(instances.max);
      const before = changes[nth - 1]?.second ?? -Infinity;
      expect(second - before).toBeGreaterThanOrEqual(scale_cooldown[to > from ? 'up' : 'down']);
    }
  });
});

test.each(Array.from({ length: 40 }, (_, nth) => nth + 1))(
  'a steady load ends in a number that stays, and that carries it (seed %i)',
  (seed) => {
    const random = randomFrom(seed);
    const said = randomSaid(random);
    const load = random() * 800;
    const { changes, count } = live({ said, count: 1 + Math.floor(random() * instancesMax), load: () => load });
    const { instances, triggers } = settingsFrom(said, instancesMax);
    expect(changes.filter(({ second }) => second > daySeconds / 2)).toEqual([]);
    const isEnough = count === instances.max || Math.min(100, load / count) <= triggers.cpu.up.threshold;
    expect(isEnough).toBe(true);
  },
);

test('a day with a busy noon gets more instances for it, and gives them back', () => {
  const isBusy = (second: number) => second > 40_000 && second < 50_000;
  const { changes, count } = live({ said: on, count: 1, load: (second) => (isBusy(second) ? 300 : 10) });
  expect(changes.map(({ to }) => to)).toEqual([2, 3, 4, 3, 2, 1]);
  expect(count).toBe(1);
  expect((changes[0]?.second ?? 0) - 40_000).toBeLessThan(400);
});

test('a clock that is set back or forward changes nothing of a steady load, and delays what is due by no more than a cooldown and a duration', () => {
  for (const jump of [-7200, 7200]) {
    const clockError = (second: number) => (second > 10_000 ? jump : 0);
    expect(live({ said: on, count: 2, load: () => 100, clockError }).changes).toEqual([]);
    const { changes } = live({ said: on, count: 1, load: (second) => (second > 9000 ? 250 : 50), clockError });
    expect(changes.map(({ to }) => to)).toEqual([2, 3, 4]);
    expect(changes.at(-1)?.second).toBeLessThan(9000 + 4 * 700);
  }
});
