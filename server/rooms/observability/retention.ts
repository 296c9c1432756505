/** How long measurements are kept, and how much of them one question may be about: what the store says of itself, in minutes. */
import type { Kind, MetricsLimits } from '../../drivers/metrics/metrics.ts';

const minuteSeconds = 60;
const dayMinutes = 24 * 60;

/** Logs are kept by size (edge/logs/rotate-log.ts), not by time; questions about them reach back so far. */
const logsDays = 30;
export const logsRangeSeconds = logsDays * dayMinutes * minuteSeconds;

interface Retention {
  retention_period: number;
  max_range: number;
  recommended_default_range: number;
}

/** Nothing profiles apps all the time, so nothing is kept of it. */
const nothingKept: Retention = { retention_period: 0, max_range: 0, recommended_default_range: 0 };

export function dataRetention({ keptDays, secondsMax }: MetricsLimits) {
  const of = (kind: Kind): Retention => ({
    retention_period: keptDays[kind] * dayMinutes,
    max_range: Math.min(secondsMax / minuteSeconds, keptDays[kind] * dayMinutes),
    recommended_default_range: dayMinutes,
  });
  return {
    _unit: 'minute',
    _unit_in_seconds: minuteSeconds,
    resources: of('samples'),
    server_monitoring: of('transactions'),
    logs: { retention_period: logsDays * dayMinutes, max_range: logsDays * dayMinutes, recommended_default_range: dayMinutes },
    http_traffic: of('requests'),
    continuous_profiling: nothingKept,
  };
}
