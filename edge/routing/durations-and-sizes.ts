/** Durations and sizes as people write them in their configuration: `-1s`, `1.5h`, `3M`, `250m`. */

const secondsOfUnit: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  M: 2_592_000,
  y: 31_536_000,
};
const bytesOfUnit: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** Whole seconds, rounded down; below nothing (`-1`) means none, and so does what is not a duration. Without a unit, seconds. */
export function durationSeconds(duration: string): number {
  const [, amount = '', unit = 's'] = /^\s*(-?\d+(?:\.\d+)?)\s*(ms|[smhdwMy])?\s*$/.exec(duration) ?? [];
  return amount === '' ? -1 : Math.floor(Number(amount) * (secondsOfUnit[unit] ?? 1));
}

/** Undefined for what is not a size; whoever asks decides what holds then. Without a unit, bytes. */
export function sizeBytes(size: string): number | undefined {
  const [, amount = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?\s*$/i.exec(size) ?? [];
  return amount === '' ? undefined : Math.floor(Number(amount) * (bytesOfUnit[unit.toLowerCase()] ?? 1));
}
