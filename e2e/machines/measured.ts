/** How long things took, for people: printed at the end of a run. */
const seconds = new Map<string, number[]>();

/** Those of one machine. */
export const measured =
  (machine: string) =>
  async <T>(what: string, does: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await does();
    const name = `${machine}: ${what}`;
    seconds.set(name, [...(seconds.get(name) ?? []), (performance.now() - start) / 1000]);
    return result;
  };

export const measuredNumbers = () =>
  [...seconds].map(([name, all]) => `${name.padEnd(50)} ${all.map((one) => `${one.toFixed(1)} s`).join(', ')}`).join('\n');
