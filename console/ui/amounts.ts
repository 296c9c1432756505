/** Amounts of memory, disk, time and money, as people say them. */
const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const amount = bytes / 1000 ** power;
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

export const megabytesText = (megabytes: number) => bytesText(megabytes * 1_000_000);

const count = new Intl.NumberFormat();
export const countText = (number: number) => count.format(Math.round(number));

/** From microseconds, as wall times are told. */
export function microsecondsText(microseconds: number): string {
  const milliseconds = microseconds / 1000;
  if (milliseconds < 10) return `${trimmed(milliseconds, 1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${trimmed(seconds, seconds < 10 ? 2 : 1)} s`;
  return seconds < 7200 ? `${trimmed(seconds / 60, 1)} min` : `${trimmed(seconds / 3600, 1)} h`;
}

/** From a share of 0 to 1. */
export const percentText = (share: number) => `${trimmed(100 * share, share > 0 && share < 0.1 ? 1 : 0)} %`;

export const cpuText = (cpu: number) => `${trimmed(cpu, cpu < 0.1 ? 3 : 2)} CPU`;

const trimmed = (value: number, digits: number) => String(Number(value.toFixed(digits)));

/** The currency of an installation whose operator set no prices. */
export const noCurrency = 'XXX';

/** As the API spells amounts where it does so itself. */
export const moneyText = (amount: number, currency: string) =>
  currency === noCurrency ? String(amount) : new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount);
