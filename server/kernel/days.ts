/** Days of the calendar in UTC, as they are written: `2026-01-31`. */
export type Day = string;

const dayMilliseconds = 86_400_000;

export const dayAt = (moment: number): Day => new Date(moment).toISOString().slice(0, 10);
export const startOf = (day: Day): number => Date.parse(`${day}T00:00:00Z`);
/** Its start, as times travel. */
export const midnight = (day: Day): string => `${day}T00:00:00.000000+00:00`;
export const endOf = (day: Day): number => startOf(day) + dayMilliseconds;
export const daysAfter = (day: Day, days: number): Day => dayAt(startOf(day) + days * dayMilliseconds);
export const dayAfter = (day: Day): Day => daysAfter(day, 1);

/** From the first day up to, but without, the last. */
export function daysBetween(from: Day, to: Day): Day[] {
  const days: Day[] = [];
  for (let day = from; day < to; day = dayAfter(day)) days.push(day);
  return days;
}
