/** Texts that others wrote, as PostgreSQL keeps them: it takes neither zero bytes nor halves of surrogate pairs, in texts as in JSON. */

export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** The value as JSON. */
export const storableJson = (value: unknown): string => JSON.stringify(value, (_, each: unknown) => storablePart(each));

function storablePart(part: unknown): unknown {
  if (typeof part === 'string') return storableText(part);
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [storableText(name), value]));
}
