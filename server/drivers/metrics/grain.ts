/** How far apart the points of a timeline are, where nobody has said so. */
import type { TimeRange } from './breakdown.ts';

/** Seconds. */
const ladder = [5, 10, 30, 60, 300, 600, 1200, 3600];
const pointsWanted = 300;

/** The finest grain of the ladder that makes no more than some hundred points, never larger than the range. */
export function grainOf({ from, to }: TimeRange): number {
  const window = to - from;
  const grain = ladder.find((seconds) => window / seconds <= pointsWanted) ?? 3600;
  return Math.min(grain, window);
}
