/**
 * Single rows for many requests at once: the keys that are asked for in the same turn of the event loop, and those that come while an earlier statement is
 * under way, share the next one.
 *
 * Nothing is kept. A statement begins after the last of its keys was asked for, and is never joined by a later one, so it sees whatever was committed
 * before: what is taken away is gone for the next request, in every process. Where a statement fails, all that share it are told, and the next one
 * is not affected.
 */
export function batched<Row>(fetch: (keys: string[]) => Promise<Row[]>, keyOf: (row: Row) => string) {
  let waiting = new Map<string, PromiseWithResolvers<Row | undefined>>();
  let underWay = 0;
  let scheduled = false;

  const flush = async () => {
    scheduled = false;
    if (underWay >= statementsUnderWayMax || waiting.size === 0) return;
    const batch = waiting;
    waiting = new Map();
    underWay += 1;
    try {
      const rows = new Map((await fetch([...batch.keys()])).map((row) => [keyOf(row), row]));
      for (const [key, { resolve }] of batch) resolve(rows.get(key));
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    } finally {
      underWay -= 1;
      schedule();
    }
  };

  const schedule = () => {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    setImmediate(() => void flush());
  };

  return (key: string): Promise<Row | undefined> => {
    const already = waiting.get(key);
    if (already) return already.promise;
    const mine = Promise.withResolvers<Row | undefined>();
    waiting.set(key, mine);
    schedule();
    return mine.promise;
  };
}

/** With only one at a time, everybody would wait for a slow one; with more of them each would have fewer keys. */
const statementsUnderWayMax = 2;
