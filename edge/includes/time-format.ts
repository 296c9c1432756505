/** Times as `config timefmt` asks for them, with the letters of strftime; always in UTC. */

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const shortName = 3;
const dayMs = 86_400_000;

export const standardTimeFormat = '%A, %d-%b-%Y %H:%M:%S %Z';

const two = (value: number) => String(value).padStart(2, '0');
const month = (date: Date) => months[date.getUTCMonth()] ?? '';
const day = (date: Date) => days[date.getUTCDay()] ?? '';
const clock = (date: Date) => date.toISOString().slice(11, 19);
const dayOfYear = (date: Date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs) + 1;

const parts: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => day(date).slice(0, shortName),
  A: day,
  b: (date) => month(date).slice(0, shortName),
  B: month,
  d: (date) => two(date.getUTCDate()),
  D: (date) => `${two(date.getUTCMonth() + 1)}/${two(date.getUTCDate())}/${two(date.getUTCFullYear() % 100)}`,
  e: (date) => String(date.getUTCDate()).padStart(2),
  F: (date) => date.toISOString().slice(0, 10),
  H: (date) => two(date.getUTCHours()),
  I: (date) => two(date.getUTCHours() % 12 || 12),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  m: (date) => two(date.getUTCMonth() + 1),
  M: (date) => two(date.getUTCMinutes()),
  p: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  R: (date) => clock(date).slice(0, 5),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  S: (date) => two(date.getUTCSeconds()),
  T: clock,
  y: (date) => two(date.getUTCFullYear() % 100),
  Y: (date) => String(date.getUTCFullYear()),
  z: () => '+0000',
  Z: () => 'GMT',
  '%': () => '%',
};

/** A letter that stands for nothing stays as it is. */
export const formatTime = (date: Date, format: string) =>
  format.replaceAll(/%(.)/g, (whole, letter: string) => parts[letter]?.(date) ?? whole);
