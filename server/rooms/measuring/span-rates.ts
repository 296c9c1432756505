/**
 * How many spans an environment, and all of them together, may report in a second. What comes beyond is not taken, and its sender is told how much that was. It still
 * counts, because it had to be decoded: whoever goes on like this is not even read for a while.
 */

export interface SpanRates {
  isSpent(environment: string): boolean;
  /** How many of so many spans are taken. */
  take(environment: string, spans: number): number;
}

export const rateBounds = { perSecond: 50_000, perSecondInAll: 100_000 };

interface Allowance {
  left: number;
  at: number;
}

/** One second's worth may come at once. */
export function openSpanRates({ perSecond, perSecondInAll } = rateBounds, now: () => number = () => performance.now()): SpanRates {
  const environments = new Map<string, Allowance>();
  const all: Allowance = { left: perSecondInAll, at: now() };
  const refill = (allowance: Allowance, most: number) => {
    const at = now();
    allowance.left = Math.min(most, allowance.left + ((at - allowance.at) / 1000) * most);
    allowance.at = at;
  };
  /** An allowance that is full again, as each is after two seconds, is as good as none. */
  const forgetFull = () => {
    for (const [environment, { at }] of environments) if (now() - at > 2000) environments.delete(environment);
  };
  const ownOf = (environment: string): Allowance => {
    if (!environments.has(environment)) forgetFull();
    const own = environments.get(environment) ?? { left: perSecond, at: now() };
    environments.set(environment, own);
    refill(own, perSecond);
    return own;
  };
  return {
    isSpent: (environment) => ownOf(environment).left < 1,
    take(environment, spans) {
      const own = ownOf(environment);
      refill(all, perSecondInAll);
      const taken = Math.max(0, Math.floor(Math.min(spans, own.left, all.left)));
      own.left = Math.max(own.left - spans, -perSecond);
      all.left -= taken;
      return taken;
    },
  };
}
