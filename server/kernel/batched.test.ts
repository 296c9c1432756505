import { describe, expect, test } from 'vitest';
import { batched } from './batched.ts';

interface Row {
  key: string;
  value: string;
}

/** Rows that change, and statements that read them when they are let through. */
function openTable() {
  const values = new Map<string, string>([
    ['a', 'old'],
    ['b', 'old'],
  ]);
  const statements: { keys: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const lookUp = batched<Row>(
    (keys) =>
      new Promise((resolve, reject) => {
        const seen = keys.flatMap((key) => (values.has(key) ? [{ key, value: values.get(key) ?? '' }] : []));
        statements.push({ keys, answer: () => resolve(seen), fail: reject });
      }),
    ({ key }) => key,
  );
  return { values, statements, lookUp, keysOf: () => statements.map(({ keys }) => keys) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('rows looked up by many at once', () => {
  test('are read by one statement, each key once, and everybody gets their own', async () => {
    const { lookUp, statements, keysOf } = openTable();
    const all = Promise.all(['a', 'b', 'a', 'unknown'].map(lookUp));
    await turn();
    expect(keysOf()).toEqual([['a', 'b', 'unknown']]);
    statements[0]?.answer();
    expect((await all).map((row) => row?.value)).toEqual(['old', 'old', 'old', undefined]);
  });

  test('are never those that an earlier statement read: what was taken away before somebody asks is gone', async () => {
    const { lookUp, statements, values, keysOf } = openTable();
    const before = lookUp('a');
    await turn();
    values.delete('a');
    const after = lookUp('a');
    await turn();
    expect(keysOf()).toEqual([['a'], ['a']]);
    for (const { answer } of statements) answer();
    expect([(await before)?.value, (await after)?.value]).toEqual(['old', undefined]);
  });

  test('wait while statements are under way, and share the next one, which sees what has changed until then', async () => {
    const { lookUp, statements, values, keysOf } = openTable();
    const first = [];
    for (const key of ['a', 'b']) {
      first.push(lookUp(key));
      await turn();
    }
    const later = [lookUp('a')];
    await turn();
    later.push(lookUp('b'), lookUp('a'));
    await turn();
    expect(keysOf()).toEqual([['a'], ['b']]);
    values.set('a', 'new');
    statements[0]?.answer();
    await expect.poll(keysOf).toEqual([['a'], ['b'], ['a', 'b']]);
    for (const { answer } of statements) answer();
    expect((await Promise.all([...first, ...later])).map((row) => row?.value)).toEqual(['old', 'old', 'new', 'old', 'new']);
  });

  test('a statement that fails is told to all that share it and to nobody else', async () => {
    const { lookUp, statements, keysOf } = openTable();
    const failed = [lookUp('a'), lookUp('b'), lookUp('a')];
    await turn();
    const fine = lookUp('a');
    await turn();
    statements[0]?.fail(new Error('The database is away'));
    for (const each of failed) await expect(each).rejects.toThrow('The database is away');
    statements[1]?.answer();
    expect((await fine)?.value).toBe('old');
    const afterwards = lookUp('b');
    await turn();
    expect(keysOf()).toEqual([['a', 'b'], ['a'], ['b']]);
    statements[2]?.answer();
    expect((await afterwards)?.value).toBe('old');
  });

  test('a statement that cannot even begin counts as failed', async () => {
    const lookUp = batched<Row>(
      () => {
        throw new Error('No connection');
      },
      ({ key }) => key,
    );
    for (let n = 0; n < 5; n += 1) await expect(lookUp('a')).rejects.toThrow('No connection');
  });
});
