/** The classes into which requests are sorted by what they took. A filter names them as they are written here. */

export interface Slot {
  name: string;
  /** Included. */
  from: number;
  /** Excluded. */
  to: number;
}

function slotsOf(borders: readonly number[], unit: number): readonly Slot[] {
  const last = borders.at(-1) ?? 0;
  const bounded = borders.slice(1).map((border, nth) => {
    const from = borders[nth] ?? 0;
    return { name: `${from}-${border}`, from: from * unit, to: border * unit };
  });
  return [...bounded, { name: `${last}+`, from: last * unit, to: Number.POSITIVE_INFINITY }];
}

/** In milliseconds by name, in microseconds by border. */
export const wallTimeSlots = slotsOf([0, 50, 100, 200, 400, 800, 1600], 1000);
/** In mebibytes by name, in bytes by border. */
export const peakMemorySlots = slotsOf([0, 8, 16, 32, 64, 128, 256], 2 ** 20);

export function slotOf(slots: readonly Slot[], value: number): string {
  return (slots.find(({ to }) => value < to) ?? slots.at(-1))?.name ?? '';
}
