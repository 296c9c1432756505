/** What every environment used in each hour of some days: all that this room knows of measurements comes through here. */
import type { Metrics, Usage } from '../../drivers/metrics/metrics.ts';
import { startOf, type Day } from '../../kernel/days.ts';

export type HourlyUsage = (from: Day, to: Day) => Promise<Usage[]>;

export const hourlyUsageOf =
  (metrics: Metrics): HourlyUsage =>
  (from, to) =>
    metrics.usage({ from: startOf(from) / 1000, to: startOf(to) / 1000 });
