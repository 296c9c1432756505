/** The line of a log that says why an activity failed: its address is `#failure`, for those who have not read the log. */
import type { LogLine } from './steps.ts';

export const failureAddress = 'failure';
/** How an activity begins its word on why it failed. */
export const failureMark = 'E: ';

/** The activity's own last word on it; undefined where it did not fail. */
export const failingLine = (lines: readonly LogLine[]): number | undefined =>
  lines.findLast(({ text }) => text.startsWith(failureMark))?.number;
