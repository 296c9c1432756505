/**
 * How far the logs of an environment have been sent, and how many bytes of lines that were: one small file, replaced as a whole after each batch. Whoever is killed between
 * sending and writing it down sends that batch again, which then is counted once.
 */
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { limit } from '../../kernel/limits.ts';
import { beginning, type TailPosition } from './log-tail.ts';

const StoredPositions = Type.Record(
  Type.String(),
  Type.Object({ bytes: Type.Number(), base: Type.Number(), seen: Type.Number(), aside: Type.String(), before: Type.String() }),
);

/** What was taken by the sink since the file was made. */
const Taken = Type.Object({ generation: Type.String(), bytes: Type.Number() });
export type Taken = Static<typeof Taken>;

const Stored = Type.Object({ taken: Taken, logs: StoredPositions });

export interface Positions {
  /** A log that is not known is read from its beginning. */
  of(log: string): TailPosition;
  set(log: string, position: TailPosition): void;
  /** So many bytes more were taken. */
  count(bytes: number): void;
  /** Forgets all but these. */
  keepOnly(logs: ReadonlySet<string>): void;
  save(): Promise<void>;
}

/** `first` answers the places to begin at where nothing was ever sent. A file that cannot be read is none: everything that is kept is sent again. */
export async function openPositions(file: string, first: () => Promise<ReadonlyMap<string, TailPosition>>): Promise<Positions> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const stored = text === undefined ? { taken: nothingTaken(), logs: Object.fromEntries(await first()) } : parsed(text);
  const known = new Map(Object.entries(stored.logs));
  const { taken } = stored;
  const oneAtATime = limit(1);
  const save = () =>
    oneAtATime(async () => {
      await writeFile(`${file}.new`, JSON.stringify({ taken, logs: Object.fromEntries(known) }), { mode: 0o600 });
      await rename(`${file}.new`, file);
    });
  if (text === undefined) await save();
  return {
    of: (log) => known.get(log) ?? beginning,
    set: (log, position) => void known.set(log, position),
    count: (bytes) => void (taken.bytes += bytes),
    keepOnly: (logs) => {
      for (const log of known.keys()) if (!logs.has(log)) known.delete(log);
    },
    save,
  };
}

/** Undefined where nothing was counted, or nothing can be read. */
export async function takenIn(file: string): Promise<Taken | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const { taken } = parsed(text);
  return taken.bytes > 0 ? taken : undefined;
}

const nothingTaken = (): Taken => ({ generation: randomBytes(8).toString('hex'), bytes: 0 });

/** Files of earlier versions have nothing but the positions. */
function parsed(text: string): Static<typeof Stored> {
  try {
    const stored: unknown = JSON.parse(text);
    if (Value.Check(Stored, stored)) return stored;
    return { taken: nothingTaken(), logs: Value.Check(StoredPositions, stored) ? stored : {} };
  } catch {
    return { taken: nothingTaken(), logs: {} };
  }
}
