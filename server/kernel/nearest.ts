/** What somebody may have meant. */

const wordCharactersMax = 40;
/** Letters that may be wrong in a word, as a share of it. */
const wrongShareMax = 0.4;

/** Undefined where nothing is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const [first] = nearestFirst(word, candidates);
  return first !== undefined && distance(word.slice(0, wordCharactersMax).toLowerCase(), first) <= Math.max(1, first.length * wrongShareMax)
    ? first
    : undefined;
}

export function nearestFirst(word: string, candidates: readonly string[]): string[] {
  const near = word.slice(0, wordCharactersMax).toLowerCase();
  return candidates.toSorted((a, b) => distance(near, a) - distance(near, b));
}

/** How many letters to add, drop or change to make one of the other; one that begins the other is next to it. */
function distance(from: string, to: string): number {
  const other = to.toLowerCase();
  if (from.length > 1 && (other.startsWith(from) || from.startsWith(other))) return from === other ? 0 : 1;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of from.split('').entries()) {
    const next = [i + 1];
    for (const [j, wanted] of other.split('').entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === wanted ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
