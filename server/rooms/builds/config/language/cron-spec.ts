/**
 * When a cron runs: minute, hour, day, month, day of the week. `H` is a slot that is chosen for it once, so that not all come at the same minute.
 */
export interface CronTimes {
  minutes: number[];
  hours: number[];
  days: number[];
  months: number[];
  /** 0 is Sunday. */
  weekdays: number[];
  /** Whether a day matches if either its date or its weekday does: so where both are given. Where one is `*`, only the other counts. */
  anyDay: boolean;
  anyWeekday: boolean;
}

/** Chooses the value of `H` from first to last, both included; always the same one for the same cron. */
export type Slot = (first: number, last: number) => number;

const fields = [
  { name: 'minute', first: 0, last: 59, words: [] },
  { name: 'hour', first: 0, last: 23, words: [] },
  { name: 'day', first: 1, last: 31, words: [] },
  { name: 'month', first: 1, last: 12, words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { name: 'day of the week', first: 0, last: 7, words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const;
type Part = (typeof fields)[number];

const specCharactersMax = 200;
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns a sentence that says what is wrong where the schedule cannot be read. */
export function parseCron(spec: string, slot: Slot = (first) => first): CronTimes | string {
  const parts = spec.trim().split(/\s+/);
  if (parts.length !== fields.length || spec.length > specCharactersMax) {
    return `expected five fields: ${fields.map(({ name }) => name).join(', ')}`;
  }
  const values: number[][] = [];
  for (const [index, field] of fields.entries()) {
    const found = fieldValues(parts[index] ?? '', field, slot);
    if (typeof found === 'string') return found;
    values.push(found);
  }
  const [minutes = [], hours = [], days = [], months = [], sevenDays = []] = values;
  const [anyDay = false, anyWeekday = false] = [2, 4].map((index) => parts[index] === '*');
  if (anyWeekday && days.every((day) => months.every((month) => day > (daysOfMonth[month - 1] ?? 0)))) {
    return `expected a day that comes, not ${parts[2]} of month ${parts[3]}`;
  }
  return { minutes, hours, days, months, weekdays: sorted(sevenDays.map((day) => day % 7)), anyDay, anyWeekday };
}

const sorted = (values: readonly number[]) => [...new Set(values)].toSorted((a, b) => a - b);

const element = /^(?:(\*)|(H)(?:\((\d+)-(\d+)\))?|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/i;

function fieldValues(text: string, field: Part, slot: Slot): number[] | string {
  const values: number[] = [];
  for (const one of text.split(',')) {
    const found = elementValues(element.exec(one), field, slot);
    if (!found) return `expected ${field.first} to ${field.last} for the ${field.name}, not ${JSON.stringify(one)}`;
    values.push(...found);
  }
  return sorted(values);
}

function elementValues(match: RegExpExecArray | null, field: Part, slot: Slot): number[] | undefined {
  if (!match) return undefined;
  const [, any, hashed, hashedFrom, hashedTo, from, to, every] = match;
  // Sunday is both 0 and 7, but counts only once when a slot is chosen.
  const lastSlot = field.name === 'day of the week' ? 6 : field.name === 'day' ? 28 : field.last;
  const isRange = any !== undefined || hashed !== undefined || to !== undefined || every !== undefined;
  const first = hashed ? Number(hashedFrom ?? field.first) : any ? field.first : valueOf(from ?? '', field);
  const last = hashed ? Number(hashedTo ?? lastSlot) : to !== undefined ? valueOf(to, field) : isRange ? field.last : first;
  const step = every === undefined ? 1 : Number(every);
  if (!(first >= field.first && last <= field.last && first <= last && step >= 1 && step <= field.last)) return undefined;
  if (!hashed) return numbers(first, last, step);
  const chosen = slot(first, every === undefined ? last : Math.min(last, first + step - 1));
  return every === undefined ? [chosen] : numbers(chosen, last, step);
}

function valueOf(text: string, { words, first }: Part): number {
  if (/^\d+$/.test(text)) return Number(text);
  const index = words.findIndex((word) => word === text.toLowerCase());
  return index < 0 ? Number.NaN : first + index;
}

const numbers = (first: number, last: number, step: number) =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);

/** The shortest time between two runs. */
export function intervalMinutes({ minutes, hours }: CronTimes): number {
  const gaps = minutes.slice(1).map((minute, index) => minute - (minutes[index] ?? 0));
  const hasNextHour = hours.some((hour) => hours.includes((hour + 1) % 24));
  const overTheHour = hasNextHour ? [60 - (minutes.at(-1) ?? 0) + (minutes[0] ?? 0)] : [];
  return Math.min(...gaps, ...overTheHour, 24 * 60);
}
