/** Months of the calendar in UTC, by their first day: `2026-01-01`. */
import { startOf, type Day } from '../../kernel/days.ts';

export type Month = Day;

export const monthAt = (moment: number): Month => `${new Date(moment).toISOString().slice(0, 7)}-01`;

export const monthsAfter = (month: Month, months: number): Month => {
  const start = new Date(startOf(month));
  return monthAt(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months));
};

/** The first day of the next one. */
export const endOfMonth = (month: Month): Day => monthsAfter(month, 1);

export const secondsOf = (month: Month): number => (startOf(endOfMonth(month)) - startOf(month)) / 1000;

/** From the first up to, but without, the last. */
export function monthsBetween(from: Month, to: Month): Month[] {
  const months: Month[] = [];
  for (let month = from; month < to; month = endOfMonth(month)) months.push(month);
  return months;
}

const nameFormat = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });
export const monthName = (month: Month): string => nameFormat.format(startOf(month));
