/**
 * Whether an alert opens, becomes worse or ends: what was found, what was known before and the clock decide, and nothing else.
 *
 * An alert opens at once and ends late: only when nothing was wrong for a while, so that what comes and goes is one alert. One that comes back soon after its end is
 * waited for longer each time. It becomes worse but never better, except by ending.
 */
import type { Reading } from './checks/check.ts';

export type Severity = 'warning' | 'critical';

/** What is known of an alert. Times are Unix seconds. */
export interface Known {
  severity: Severity;
  away_since: number | null;
  ended_at: number | null;
  returns: number;
}

export type Verdict =
  | { kind: 'open'; severity: Severity; returns: number }
  | { kind: 'worsen' }
  /** Nothing is wrong for the first time. */
  | { kind: 'leave' }
  /** It is wrong again before the alert has ended. */
  | { kind: 'return' }
  | { kind: 'end' };

/** How long after its end an alert that opens again counts as the same trouble. */
export const rememberedSeconds = 24 * 60 * 60;
const quietSecondsMax = 2 * 60 * 60;
const returnsMax = 10;

/** Undefined: nothing changes. */
export function judge(known: Known | undefined, found: Reading | undefined, quietSeconds: number, now: number): Verdict | undefined {
  const severity = found && severityOf(found);
  if (!known || known.ended_at !== null) return severity && { kind: 'open', severity, returns: returnsOf(known, now) };
  const { away_since } = known;
  if (isWrong(known, found)) {
    if (severity === 'critical' && known.severity === 'warning') return { kind: 'worsen' };
    return away_since === null ? undefined : { kind: 'return' };
  }
  const quiet = Math.min(quietSeconds * 2 ** known.returns, quietSecondsMax);
  if (quiet === 0) return { kind: 'end' };
  // A clock that was set back begins to count anew.
  if (away_since === null || away_since > now) return { kind: 'leave' };
  return now - away_since >= quiet ? { kind: 'end' } : undefined;
}

function severityOf({ value, thresholds: { warning, critical } }: Reading): Severity | undefined {
  if (value >= critical) return 'critical';
  return value >= warning ? 'warning' : undefined;
}

/** What has not gone yet has to fall below `recovery`; what has gone has to reach `warning` again. */
function isWrong({ away_since }: Known, found: Reading | undefined): boolean {
  if (!found) return false;
  return away_since === null ? found.value >= found.thresholds.recovery : severityOf(found) !== undefined;
}

const returnsOf = (known: Known | undefined, now: number) =>
  known && now - (known.ended_at ?? now) < rememberedSeconds ? Math.min(known.returns + 1, returnsMax) : 0;
