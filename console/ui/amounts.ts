/** Amounts of memory and disk, as people say them. */
const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const amount = bytes / 1000 ** power;
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

export const megabytesText = (megabytes: number) => bytesText(megabytes * 1_000_000);
