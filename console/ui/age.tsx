/** How long ago something was, with the exact time, in the reader's zone, on hover. All ages on a page move on together. */
import { useSyncExternalStore } from 'react';

const tickMilliseconds = 15_000;

const listeners = new Set<() => void>();
let now = Date.now();
let ticking: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void) {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, tickMilliseconds);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/** The current time, for drawings and words that follow it. */
export const useNow = () => useSyncExternalStore(subscribe, () => now);

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const steps: readonly (readonly [secondsMax: number, seconds: number, unit: string])[] = [
  [3600, 60, 'min'],
  [48 * 3600, 3600, 'h'],
  [60 * 86_400, 86_400, 'd'],
  [Number.POSITIVE_INFINITY, 30 * 86_400, 'mo'],
];

export function ageIn(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds / 1000);
  if (seconds < 60) return 'now';
  const [, length, unit] = steps.find(([secondsMax]) => seconds < secondsMax) ?? [0, 1, 's'];
  return `${Math.floor(seconds / length)} ${unit}`;
}

const exactShort = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A moment in the reader's zone. */
export const exactTime = (of: string): string => exactShort.format(new Date(of));

export function Age({ of, ago = false }: { of: string; ago?: boolean }) {
  const age = ageIn(Math.max(useNow(), Date.parse(of)) - Date.parse(of));
  return (
    <time dateTime={of} title={exact.format(new Date(of))}>
      {age === 'now' ? (ago ? 'just now' : 'now') : ago ? `${age} ago` : age}
    </time>
  );
}

/** How long something took, or takes so far. */
export function duration(from: string, to: string | number): string {
  const seconds = Math.max(0, ((typeof to === 'number' ? to : Date.parse(to)) - Date.parse(from)) / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
