/**
 * What the clock on a wall says in a time zone, and when it says so. A wall time is milliseconds as `Date.UTC` counts them: a day of the calendar is always
 * as long as any other there, and what is missing or there twice shows when it is turned into a moment.
 */
export const minuteMilliseconds = 60_000;
export const dayMilliseconds = 24 * 60 * minuteMilliseconds;

const formats = new Map<string, Intl.DateTimeFormat>();
const formatsMax = 1000;

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  if (formats.size >= formatsMax) formats.clear();
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: isKnown(zone) ? zone : 'UTC',
    hourCycle: 'h23',
    calendar: 'gregory',
    ...numeric,
  });
  formats.set(zone, made);
  return made;
}

/** Which zones exist depends on the version of the time zone database. */
function isKnown(zone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: zone }));
  } catch {
    return false;
  }
}

/** Clocks change at quarters of hours; asking for the offset of a zone takes time, so only these are asked for. */
const quarterMilliseconds = 15 * minuteMilliseconds;
const offsets = new Map<string, number>();
const offsetsMax = 100_000;

export function offsetAt(zone: string, moment: number): number {
  const quarter = Math.floor(moment / quarterMilliseconds) * quarterMilliseconds;
  const key = `${zone} ${quarter}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(quarter)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  const offset = Date.UTC(year, month - 1, day, hour, minute, second) - quarter;
  if (offsets.size >= offsetsMax) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

export const wallTime = (zone: string, moment: number): number => moment + offsetAt(zone, moment);

/**
 * When the clock says so for the first time. What it never says, because it was put forward over that, is when it was put forward. (Clocks are not changed
 * twice within two days.)
 */
export function momentOf(zone: string, wall: number): number {
  const [before, after] = [offsetAt(zone, wall - dayMilliseconds), offsetAt(zone, wall + dayMilliseconds)];
  const moments = [wall - before, wall - after].filter((moment) => wallTime(zone, moment) === wall);
  return moments.length > 0 ? Math.min(...moments) : changeBetween(zone, wall - after, wall - before);
}

/** The moment at which the clock changes, to the second; `first` is before it, `last` is not. */
function changeBetween(zone: string, first: number, last: number): number {
  const offset = offsetAt(zone, first);
  let [before, after] = [first, last];
  while (after - before > 1000) {
    const middle = before + Math.floor((after - before) / 2000) * 1000;
    if (offsetAt(zone, middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}
