/**
 * How far the logs of an environment have been sent: one small file, replaced as a whole after each batch. Whoever is killed between sending and
 * writing it down sends that batch again.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { limit } from '../../kernel/limits.ts';
import { beginning, type TailPosition } from './log-tail.ts';

const StoredPositions = Type.Record(
  Type.String(),
  Type.Object({ bytes: Type.Number(), base: Type.Number(), seen: Type.Number(), aside: Type.String(), before: Type.String() }),
);

export interface Positions {
  /** A log that is not known is read from its beginning. */
  of(log: string): TailPosition;
  set(log: string, position: TailPosition): void;
  /** Forgets all but these. */
  keepOnly(logs: ReadonlySet<string>): void;
  save(): Promise<void>;
}

/** `first` answers the places to begin at where nothing was ever sent. A file that cannot be read is none: everything that is kept is sent again. */
export async function openPositions(file: string, first: () => Promise<ReadonlyMap<string, TailPosition>>): Promise<Positions> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const known = new Map(text === undefined ? await first() : Object.entries(parsed(text)));
  const oneAtATime = limit(1);
  const save = () =>
    oneAtATime(async () => {
      await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries(known)), { mode: 0o600 });
      await rename(`${file}.new`, file);
    });
  if (text === undefined) await save();
  return {
    of: (log) => known.get(log) ?? beginning,
    set: (log, position) => void known.set(log, position),
    keepOnly: (logs) => {
      for (const log of known.keys()) if (!logs.has(log)) known.delete(log);
    },
    save,
  };
}

function parsed(text: string): Record<string, TailPosition> {
  try {
    const stored: unknown = JSON.parse(text);
    return Value.Check(StoredPositions, stored) ? stored : {};
  } catch {
    return {};
  }
}
