/**
 * Which images a Dockerfile begins with. They are fetched by the platform, past the guard that all of its traffic passes and with the project's credentials, before
 * the build starts; in the file that is built each stands as the image that it was then.
 */
import { parseReference, textOf } from '../../drivers/images/oci/reference.ts';

interface Found {
  /** As it is written there. */
  written: string;
  /** With its arguments filled in, and in full: `docker.io/library/debian:12`. Undefined where that is no name of an image. */
  reference: string | undefined;
}

const from = /^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$/i;
const argument = /^\s*ARG\s+([A-Za-z_]\w*)(?:=("[^"]*"|'[^']*'|\S*))?\s*$/i;
const copiedFrom = /^\s*(?:COPY|ADD)\s.*?--from=(\S+)|^\s*RUN\s.*?--mount=\S*?\bfrom=([^\s,]+)/i;

/** Instructions that name images are short; what is longer is not looked at, as that would take long. */
const lineCharactersMax = 4096;
const linesOf = (dockerfile: string) => dockerfile.split('\n').map((line) => (line.length > lineCharactersMax ? '' : line));

/** Arguments that are declared before the first stage may be part of the names of images. */
export function imagesIn(dockerfile: string, args: Readonly<Record<string, string>>): Found[] {
  const known: Record<string, string> = {};
  const stages = new Set(['scratch']);
  const found = new Map<string, Found>();
  let isBeforeStages = true;
  const add = (written: string) => {
    const filled = fill(written, known);
    if (stages.has(filled.toLowerCase()) || /^\d+$/.test(filled)) return;
    const reference = parseReference(filled);
    found.set(written, { written, reference: reference && textOf(reference) });
  };
  for (const line of linesOf(dockerfile)) {
    const [, name, otherwise = ''] = argument.exec(line) ?? [];
    if (name !== undefined && isBeforeStages) known[name] = args[name] ?? otherwise.replace(/^(["'])(.*)\1$/, '$2');
    const [, image, stage] = from.exec(line) ?? [];
    if (image !== undefined) {
      isBeforeStages = false;
      add(image);
      if (stage !== undefined) stages.add(stage.toLowerCase());
    }
    const [, copied, mounted] = copiedFrom.exec(line) ?? [];
    const other = copied ?? mounted;
    if (other !== undefined) add(other);
  }
  return [...found.values()];
}

/** `$NAME`, `${NAME}` and `${NAME:-otherwise}`. */
const fill = (text: string, known: Readonly<Record<string, string>>) =>
  text.replace(
    /\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})/g,
    (_, plain: string | undefined, braced: string | undefined, otherwise = '') => known[plain ?? braced ?? ''] || otherwise,
  );

/** The same file, line by line, in which images are called by their ids. */
export function withIds(dockerfile: string, ids: ReadonlyMap<string, string>): string {
  const idOf = (written: string) => ids.get(written) ?? written;
  return dockerfile
    .split('\n')
    .map((line) => {
      if (line.length > lineCharactersMax) return line;
      const [, image] = from.exec(line) ?? [];
      if (image !== undefined) return line.replace(image, () => idOf(image));
      const [, copied, mounted] = copiedFrom.exec(line) ?? [];
      const other = copied ?? mounted;
      return other === undefined ? line : line.replace(`from=${other}`, () => `from=${idOf(other)}`);
    })
    .join('\n');
}

export const argumentsIn = (dockerfile: string): string[] =>
  linesOf(dockerfile).flatMap((line) => argument.exec(line)?.[1] ?? /^\s*ARG\s+([A-Za-z_]\w*)/i.exec(line)?.[1] ?? []);

/** The line of the instruction that was being carried out, as the builder repeats it; undefined where it cannot be told. */
export function lineOf(dockerfile: string, instruction: string): number | undefined {
  const [word = '', ...rest] = instruction.trim().split(/\s+/);
  const isIt = (line: string) => {
    const words = line.trim().replace(/\\$/, '').trim().split(/\s+/);
    return words[0]?.toUpperCase() === word.toUpperCase() && words.slice(1).every((each, index) => each === rest[index]);
  };
  const index = dockerfile.split('\n').findIndex(isIt);
  return index < 0 ? undefined : index + 1;
}
