/** The rows of a log as it is shown: each step, and the lines of those that are open. */
import { failureMark } from './failing-line.ts';
import type { LogLine, Step } from './steps.ts';

export type LogRow = { step: Step; isOpen: boolean; isLast: boolean; hasFailed: boolean } | { line: LogLine };

/** A step without lines of its own is a line. One that an error follows has failed, and is as much of interest as the last. */
export function rowsOf(steps: readonly Step[], isOpen: (step: Step, isLast: boolean) => boolean): LogRow[] {
  const rows: LogRow[] = [];
  for (const [n, step] of steps.entries()) {
    if (step.lines.length === 0) {
      rows.push({ line: step.head });
      continue;
    }
    const isLast = n === steps.length - 1;
    const hasFailed = steps[n + 1]?.head.text.startsWith(failureMark) ?? false;
    const open = isOpen(step, isLast || hasFailed);
    rows.push({ step, isOpen: open, isLast, hasFailed });
    if (open) for (const line of step.lines) rows.push({ line });
  }
  return rows;
}

export const lineOf = (row: LogRow): LogLine => ('step' in row ? row.step.head : row.line);

/** Where a line is, or the step that hides it. */
export function rowAt(rows: readonly LogRow[], number: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = rows[middle];
    if (row && lineOf(row).number <= number) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The numbers of the lines that hold a text, in any case. */
export function found(lines: readonly LogLine[], text: string): number[] {
  const wanted = text.toLowerCase();
  return wanted === '' ? [] : lines.filter((line) => line.text.toLowerCase().includes(wanted)).map(({ number }) => number);
}
