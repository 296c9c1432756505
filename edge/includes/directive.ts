/** What a directive says: `include virtual="/footer"` is a command with its parameters. Texts are Latin-1: a character for each byte of the page. */

export interface Directive {
  command: string;
  /** Names in lower case. */
  parameters: ReadonlyMap<string, string>;
}

const parametersMax = 16;
const commandPart = /\s*([a-z]+)/iy;
const parameterPart = /\s+([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)')/iy;

/** Undefined: it cannot be read. */
export function readDirective(source: string): Directive | undefined {
  commandPart.lastIndex = 0;
  const command = commandPart.exec(source)?.[1]?.toLowerCase();
  if (command === undefined) return undefined;
  const parameters = new Map<string, string>();
  let end = commandPart.lastIndex;
  for (let count = 0; count < parametersMax; count++) {
    parameterPart.lastIndex = end;
    const [, name, double, single] = parameterPart.exec(source) ?? [];
    if (name === undefined) break;
    parameters.set(name.toLowerCase(), (double ?? single ?? '').replaceAll(/\\(["'])/g, '$1'));
    end = parameterPart.lastIndex;
  }
  return source.slice(end).trim() === '' ? { command, parameters } : undefined;
}

const variable = /\\([\\$])|\$(?:\{(\w+)\}|(\w+))/g;

/** Puts the values of variables, `$name` or `${name}`, into the text; those that nobody has set are empty. A backslash before a dollar sign makes it one. */
export const fillIn = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.includes('$')
    ? text.replace(
        variable,
        (_, escaped?: string, braced?: string, bare?: string) => escaped ?? valueOf((braced ?? bare ?? '').toLowerCase()) ?? '',
      )
    : text;
