/** The thread of one script: opens the engine, gives it what scripts have (script-globals.js), and tells how the script ended. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { newQuickJSWASMModuleFromVariant, type QuickJSContext, type QuickJSHandle } from 'quickjs-emscripten-core';
import type { ScriptAnswer, ScriptCall, ScriptFailure, ScriptMessage, ScriptOrder } from './run-script.ts';

const { source, globals, limits, answers, isAnswered } = workerData as ScriptOrder;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of threads, and no window
const tell = (message: ScriptMessage) => parentPort?.postMessage(message);

/** Making the engine ready is not work of the script. */
let begunAt = Infinity;
let waitedMilliseconds = 0;
const isBusyTooLong = () => performance.now() - begunAt - waitedMilliseconds > limits.busySeconds * 1000;

/** Sleeps until there is an answer. */
function ask(call: ScriptCall, given: unknown[]): ScriptAnswer {
  const askedAt = performance.now();
  tell({ call, given });
  Atomics.wait(isAnswered, 0, 0);
  Atomics.store(isAnswered, 0, 0);
  waitedMilliseconds += performance.now() - askedAt;
  return receiveMessageOnPort(answers)?.message as ScriptAnswer;
}

let printedCharacters = 0;

/** An endless loop that prints must not fill the memory of those who read it. */
function print(line: string): void {
  if (printedCharacters > limits.printedCharacters) return;
  printedCharacters += line.length + 1;
  tell({ print: printedCharacters > limits.printedCharacters ? 'The rest of what the script prints is not kept.' : line });
}

/** What is done without leaving the thread. */
const own: Record<string, (...given: unknown[]) => unknown> = {
  print: (line) => print(String(line)),
  hmac: (algorithm, key, text, encoding) => {
    const digest = createHmac(String(algorithm), String(key)).update(String(text)).digest();
    return digest.toString(encoding === 'hex' || encoding === 'base64' ? encoding : 'latin1');
  },
};

/** All that passes between us and the engine is text. */
function host(name: string, given: string): string {
  const values = JSON.parse(given) as unknown[];
  const ownOne = Object.hasOwn(own, name) ? own[name] : undefined;
  return JSON.stringify(ownOne ? { value: ownOne(...values) } : ask(name as ScriptCall, values));
}

const textOf = (url: string) => readFileSync(new URL(url), 'utf8');
const failureCharactersMax = 2000;

async function run(): Promise<ScriptFailure> {
  const engine = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-wasmfile-release-sync'));
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(limits.memoryBytes);
  runtime.setMaxStackSize(limits.stackBytes);
  runtime.setInterruptHandler(isBusyTooLong);
  const context = runtime.newContext();
  context.unwrapResult(context.evalCode(textOf(import.meta.resolve('underscore/underscore-umd-min.js')), 'underscore.js')).dispose();
  const given = context.evalCode(textOf(new URL('script-globals.js', import.meta.url).href), 'platform.js', { type: 'module' });
  const setUp = context.getProp(context.unwrapResult(given), 'default');
  const asked = context.newFunction('host', (name, values) => context.newString(host(context.getString(name), context.getString(values))));
  context.unwrapResult(context.callFunction(setUp, context.undefined, asked, context.newString(JSON.stringify(globals)))).dispose();

  begunAt = performance.now();
  const evaluated = context.evalCode(source, 'script.js');
  if (evaluated.error) return failureOf(context, evaluated.error);
  const jobs = runtime.executePendingJobs();
  if (jobs.error) return failureOf(context, jobs.error);
  // What is stopped within a promise tells nobody.
  if (isBusyTooLong()) return tookTooLong;
  // A script whose last word is a promise failed where that is broken.
  const last = context.getPromiseState(evaluated.value);
  return last.type === 'rejected' ? failureOf(context, last.error) : undefined;
}

const tookTooLong = `The script was stopped: it had worked for ${limits.busySeconds} seconds.`;

function failureOf(context: QuickJSContext, error: QuickJSHandle): string {
  if (isBusyTooLong()) return tookTooLong;
  const thrown = context.dump(error) as unknown;
  const text = isError(thrown)
    ? `${thrown.name}: ${thrown.message}\n${thrown.stack.trimEnd()}`
    : `The script threw ${JSON.stringify(thrown)}`;
  return text.trimEnd().slice(0, failureCharactersMax);
}

const isError = (thrown: unknown): thrown is Required<Error> =>
  typeof thrown === 'object' &&
  thrown !== null &&
  ['name', 'message', 'stack'].every((part) => typeof Reflect.get(thrown, part) === 'string');

// The engine itself may fail where a script has used up its memory.
await run().then(
  (end) => tell({ end }),
  (error: unknown) => tell({ end: error instanceof Error ? `${error.name}: ${error.message}` : 'The engine failed.' }),
);
