/** What was measured on a machine, for people: a table at the end of a run. */
const columnCharacters = 60;
const told = new Map<string, string[]>();

/** What was found, in words; the same thing may be measured several times. It is told at once, too: a run that is cut short has told what it saw. */
export function note(what: string, found: string): void {
  console.log(`${what}: ${found}`);
  told.set(what, [...(told.get(what) ?? []), found]);
}

/** How long something takes that goes well. */
export async function time<T>(what: string, does: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await does();
  note(what, `${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
}

export const measuredTable = (machine: string): string =>
  [machine, ...[...told].map(([what, all]) => `  ${what.padEnd(columnCharacters)} ${all.join(', ')}`)].join('\n');
