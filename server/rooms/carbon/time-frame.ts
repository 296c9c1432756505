/** Which days a request asks about, and by what they are grouped. `from` is inclusive; `to` is exclusive, and truncated to the interval, so that no interval is told by half. */
import { Type } from 'typebox';
import { invalidField } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import { dayAfter, dayAt, daysAfter, startOf, type Day } from '../../kernel/days.ts';

export const intervals = ['day', 'month', 'year'] as const;
export type Interval = (typeof intervals)[number];

export interface TimeFrame {
  from: Day;
  to: Day;
  interval: Interval;
  /** The first day of each interval, clipped to `from`. */
  starts: Day[];
}

const written = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

export const TimeFrameQuery = closed({
  from: written(
    'The first day, as a date or a time in ISO 8601, `from=2026-01-31`; `from[gte]=` is the same. Thirty days, twelve months or five years before `to` by default.',
  ),
  to: written('The end, exclusive and truncated to the interval; `to[lt]=` is the same. The end of the interval under way by default.'),
  interval: Type.Optional(Type.String({ enum: [...intervals], description: '`day` by default.' })),
});

export interface AskedTimeFrame {
  from?: unknown;
  to?: unknown;
  interval?: string | undefined;
}

/** A reply has so many values for each project at most. */
const intervalsMax = 400;

const cut: Record<Interval, (day: Day) => Day> = {
  day: (day) => day,
  month: (day) => `${day.slice(0, 7)}-01`,
  year: (day) => `${day.slice(0, 4)}-01-01`,
};

/** No month has more than 31 days, and no year more than 366: the first of the next is found from there. */
const following: Record<Interval, (day: Day) => Day> = {
  day: dayAfter,
  month: (day) => cut.month(daysAfter(cut.month(day), 31)),
  year: (day) => cut.year(daysAfter(cut.year(day), 366)),
};

const usualFrom: Record<Interval, (to: Day) => Day> = {
  day: (to) => daysAfter(to, -30),
  month: (to) => `${Number(to.slice(0, 4)) - 1}${to.slice(4)}`,
  year: (to) => `${Number(to.slice(0, 4)) - 5}${to.slice(4)}`,
};

/** Throws a Problem that names the parameter. */
export function readTimeFrame(query: AskedTimeFrame, now: number): TimeFrame {
  const interval = (query.interval ?? 'day') as Interval;
  const asked = { from: dayIn(query.from, 'from', 'gte'), to: dayIn(query.to, 'to', 'lt') };
  const to = cut[interval](asked.to ?? following[interval](dayAt(now)));
  const from = asked.from ?? usualFrom[interval](to);
  if (asked.to !== undefined && asked.to <= from) throw invalidField('to', 'must be later than from');
  if (asked.to === undefined && to <= from) throw invalidField('from', `must be before the end of the ${interval} under way`);
  const starts: Day[] = [];
  for (let start = from; start < to; start = following[interval](start)) {
    if (starts.length === intervalsMax)
      throw invalidField('interval', `must not be shorter than a ${intervalsMax}th of the time that is asked for`);
    starts.push(start);
  }
  return { from, to, interval, starts };
}

/** The interval of the frame that a day of it falls into. */
export const startIn = ({ from, interval }: TimeFrame, day: Day): Day => (cut[interval](day) > from ? cut[interval](day) : from);

const momentSyntax = /^((?:19[7-9]|2\d\d)\d-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+ -]\d\d:?\d\d)?)?$/;

/** A date, a time, or either of them as `eq` or under the operator that says the same. */
function dayIn(value: unknown, name: string, operator: string): Day | undefined {
  if (value === undefined) return undefined;
  const spelled = typeof value === 'object' && value !== null ? Object.entries(value) : [['eq', value]];
  const [[as, text] = []] = spelled;
  if (spelled.length !== 1 || (as !== 'eq' && as !== operator))
    throw invalidField(name, `must be written ${name}= or ${name}[${operator}]=`);
  const day = typeof text === 'string' ? dayOfText(text) : undefined;
  if (day === undefined) throw invalidField(name, 'must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z, from 1970 on');
  return day;
}

function dayOfText(text: string): Day | undefined {
  const [, date = '', time = '00:00', offset = 'Z'] = momentSyntax.exec(text) ?? [];
  // A plus sign that was not percent-encoded arrives as a space.
  const moment = Date.parse(`${date}T${time}${offset.replace(' ', '+')}`);
  const isDay = date !== '' && !Number.isNaN(startOf(date)) && dayAt(startOf(date)) === date;
  return isDay && !Number.isNaN(moment) ? dayAt(moment) : undefined;
}
