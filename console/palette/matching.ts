/** Finding things by a few letters of their names. */
export interface Named {
  group: 'Actions' | 'Pages' | 'Environments' | 'Projects';
  name: string;
  /** Where it is, in words. */
  place: string;
}

/** Those whose name and place hold every word that was typed, the best first: names that begin with it. */
export function matching<T extends Named>(entries: readonly T[], typed: string, most: number): T[] {
  const words = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const first = words[0] ?? '';
  return entries
    .filter(({ name, place, group }) => words.every((word) => `${name} ${place} ${group}`.toLowerCase().includes(word)))
    .toSorted((one, other) => Number(other.name.toLowerCase().startsWith(first)) - Number(one.name.toLowerCase().startsWith(first)))
    .slice(0, most);
}
