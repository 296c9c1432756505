import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { runScript, type Script } from './run-script.ts';

const unasked = () => Promise.reject(new Error('nobody was to be asked'));
const noCalls: Script['calls'] = { fetch: unasked, getStored: unasked, setStored: unasked, removeStored: unasked, clearStored: unasked };

async function run(source: string, given: Partial<Script> = {}) {
  const printed: string[] = [];
  const print = (line: string) => void printed.push(line);
  const failure = await runScript({ source, globals: {}, calls: noCalls, print, signal: new AbortController().signal, ...given });
  return { printed, failure };
}

test('a script has the language, what it was given, Underscore and signatures', async () => {
  const source = `
    const sums = _.map(numbers, (number) => number?.value + 1);
    console.log('sums', sums, { of: person.name });
    console.log(crypto.createHmac('sha256', 'key').update('a').update('b').digest('hex'));
    console.log(crypto.createHmac('md5', 'key').update('ab').digest('').length);
    Promise.resolve('later').then(console.log);`;
  const { printed, failure } = await run(source, { globals: { numbers: [{ value: 1 }, { value: 2 }], person: { name: 'Zoë' } } });
  expect(failure).toBeUndefined();
  expect(printed).toEqual([
    'sums [\n  2,\n  3\n] {\n  "of": "Zoë"\n}',
    createHmac('sha256', 'key').update('ab').digest('hex'),
    '16',
    'later',
  ]);
});

test('a script waits for what it asks for, and can catch a refusal', async () => {
  const stored = new Map<string, unknown>();
  const calls: Script['calls'] = {
    ...noCalls,
    fetch: async (url, options) => {
      if (url === 'http://inside/') throw new Problem('invalid-request', 'That is not a public address.');
      return { status: 200, statusText: 'OK', text: JSON.stringify({ url, options }) };
    },
    getStored: async (key) => stored.get(String(key)) ?? null,
    setStored: async (key, value) => void stored.set(String(key), value),
    clearStored: async () => stored.clear(),
  };
  const source = `
    const storage = require('storage');
    console.log(storage.get('count'));
    storage.set('count', { of: 1 });
    console.log(storage.get('count').of);
    storage.clear();
    console.log(storage.get('count'));
    const reply = fetch('https://example.org/', { method: 'POST', headers: { a: 'b' }, body: 'text' });
    console.log(reply.ok, reply.status, reply.json().options.body);
    try { fetch('http://inside/') } catch (error) { console.log(error.message) }`;
  const { printed, failure } = await run(source, { calls });
  expect(failure).toBeUndefined();
  expect(printed).toEqual(['null', '1', 'null', 'true 200 text', 'That is not a public address.']);
});

test('a script that throws is told where', async () => {
  const { failure } = await run('function pay() {\n  undefined.price;\n}\n\npay();');
  expect(failure).toContain('TypeError');
  expect(failure).toMatch(/pay \(script\.js:2/);
  expect((await run('const a = ;')).failure).toContain('SyntaxError');
  expect((await run('throw "words"')).failure).toBe('The script threw "words"');
  expect((await run('(async () => { throw new RangeError("late") })()')).failure).toContain('RangeError: late');
});

test.for<[string, string]>([
  ['goes on for ever', 'for (;;);'],
  ['goes on for ever and catches everything', 'for (;;) try { for (;;); } catch {}'],
  ['goes on for ever in promises', 'const again = () => Promise.resolve().then(again); again()'],
  ['goes on for ever in a regular expression', '/(a+)+$/.test("a".repeat(40) + "b")'],
])('a script that %s is stopped', async ([, source]) => {
  const { failure } = await run(source, { limits: { busySeconds: 0.2 } });
  expect(failure).toBe('The script was stopped: it had worked for 0.2 seconds.');
});

test('a script that waits for too long is stopped', async () => {
  const never = () => new Promise<never>(() => {});
  const { failure } = await run('fetch("https://example.org/")', { calls: { ...noCalls, fetch: never }, limits: { seconds: 0.5 } });
  expect(failure).toBe('The script was stopped after 0.5 seconds.');
});

test('a script that wants all memory, or calls itself without end, fails, and others go on', async () => {
  const bomb = await run('const all = []; for (;;) all.push({ at: all.length })', { limits: { memoryBytes: 8 * 1024 * 1024 } });
  expect(bomb.failure).toMatch(/memory/);
  expect((await run('const whole = new ArrayBuffer(1e9)')).failure).toMatch(/memory|length/i);
  expect((await run('const down = () => down() + 1; down()')).failure).toMatch(/stack/i);
  expect((await run('console.log("fine")')).printed).toEqual(['fine']);
});

test('of what a script prints without end, a part is kept', async () => {
  const limits = { busySeconds: 0.3, printedCharacters: 1000 };
  const { printed } = await run('for (;;) console.log("line")', { limits });
  expect(printed.join('\n').length).toBeLessThan(1200);
  expect(printed.at(-1)).toBe('The rest of what the script prints is not kept.');
});

test.for([
  'process.exit()',
  'require("fs")',
  'require("child_process")',
  'import("node:fs").then(() => console.log("in"), (error) => { throw error })',
  'Function("return process")().env',
  'this.constructor.constructor("return process")().env',
  'globalThis.constructor.constructor("return require")()("fs").readFileSync("/etc/passwd")',
  'console.log.constructor("return process")().env',
  'fetch.constructor("return host")()("print", "[]")',
  'Error.prepareStackTrace = (_, frames) => frames[0].getThis().process.env; throw new Error("x")',
  'std.open("/etc/passwd", "r")',
  'os.exec(["true"])',
])('%s leads nowhere', async (source) => {
  const { failure, printed } = await run(source);
  expect([failure === undefined, printed]).toEqual([false, []]);
});

test('whoever stops it stops its thread', async () => {
  const stop = new AbortController();
  const running = run('console.log("begun"); for (;;);', { signal: stop.signal, print: () => stop.abort(new Error('enough')) });
  await expect(running).rejects.toThrow('enough');
});
