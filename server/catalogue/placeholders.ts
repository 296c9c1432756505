/** Words in braces that stand for something which is known only later, such as `{password}`; a brace behind a dollar sign belongs to a shell. */
const anyPlaceholder = /(?<!\$)\{([a-z_]+)(?: (\d{1,3})%)?\}/g;

export type Values = Readonly<Record<string, string>>;

/** What is not among the values stays as it is written. */
export const filled = (text: string, values: Values): string =>
  text.replaceAll(anyPlaceholder, (whole, name: string, share?: string) => (share === undefined ? (values[name] ?? whole) : whole));

/** `{memory}` is the memory of the container in MB, and `{memory 50%}` half of it. */
export const withMemory = (text: string, memoryMb: number): string =>
  text.replaceAll(anyPlaceholder, (whole, name: string, share = '100') =>
    name === 'memory' ? String(Math.max(1, Math.floor((memoryMb * Number(share)) / 100))) : whole,
  );

/** Those in the text that are none of these. */
export const unknownPlaceholders = (text: string, known: readonly string[]): string[] =>
  [...text.matchAll(anyPlaceholder)].flatMap(([whole, name = '', share]) =>
    known.includes(name) && (share === undefined || (name === 'memory' && Number(share) > 0 && Number(share) <= 100)) ? [] : whole,
  );
