/** The programs of the machine that the runtime calls, and processes it looks at without calling any. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from './runtime-folders.ts';

const secondsMax = 60;
const outputBytesMax = 64 * 1024;
const lockSecondsMax = 30;

type Input = string | ((write: (text: string) => void) => Promise<void>);

/** The exit code of a program, whatever it is, and what the program said. */
interface Ended {
  code: number;
  said: string;
}

/** A program that waits to be told something. */
export interface Started {
  pid: number | undefined;
  alive(): boolean;
  /** Writes something ahead of the rest. When this is fulfilled the program has it, whatever becomes of us. */
  write(text: string): Promise<void>;
  /** The input may come bit by bit; if that fails, the program's input just ends, and this fails too. */
  tell(input: Input): Promise<Ended>;
}

/** Runs programs while holding the lock of the runtime: what is still running after a kill -9 of this process keeps the next one out until it is done. */
export interface Programs {
  run(program: string, args: readonly string[], input?: string): Promise<void>;
  attempt(program: string, args: readonly string[], input?: string): Promise<Ended>;
  start(program: string, args: readonly string[]): Started;
  /** Starts a program in a session of its own: signals to all processes of the platform do not reach it. */
  startApart(program: string, args: readonly string[]): Started;
  close(): void;
}

export async function openPrograms(lockFile: string): Promise<Programs> {
  const lock = openSync(lockFile, 'a', 0o600);
  const start = (program: string, args: readonly string[]) => startProgram(program, args, { lock });
  const attempt = (program: string, args: readonly string[], input = '') => start(program, args).tell(input);
  const { code } = await attempt('flock', ['--exclusive', '--timeout', String(lockSecondsMax), '3']);
  if (code !== 0) {
    closeSync(lock);
    throw new Error(`Another Offshoot runs containers from ${lockFile}; stop it first, or use another data folder.`);
  }
  const open = { now: true };
  return {
    attempt,
    start,
    startApart: (program, args) => startProgram(program, args, { lock, detached: true }),
    run: async (program, args, input) => {
      const { code, said } = await attempt(program, args, input);
      if (code !== 0) throw new Error(`${program} ${args.slice(0, 4).join(' ')} ended with ${code}: ${said.trim()}`);
    },
    close: () => {
      if (open.now) closeSync(lock);
      open.now = false;
    },
  };
}

function startProgram(program: string, args: readonly string[], { lock, detached = false }: { lock: number; detached?: boolean }): Started {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe', lock], detached });
  let said = '';
  const listen = (chunk: Buffer) => (said = (said + chunk.toString()).slice(-outputBytesMax));
  child.stdout?.on('data', listen);
  child.stderr?.on('data', listen);
  child.stdin?.on('error', () => {});
  const ended = new Promise<Ended>((settle, fail) => {
    child.once('error', (cause) => fail(new Error(`${program} could not be started: ${cause.message}`, { cause })));
    child.once('close', (code, signal) => settle({ said, code: code ?? (signal === null ? 1 : 137) }));
  });
  // Whoever calls `tell` hears of a failure; nobody else asks.
  ended.catch(() => {});
  const tell = async (input: Input) => {
    const timer = setTimeout(() => child.kill(), secondsMax * 1000);
    try {
      return await tellAndWait(child.stdin, input, ended);
    } finally {
      clearTimeout(timer);
    }
  };
  // The program may have ended without our knowing it yet.
  const alive = () => child.exitCode === null && child.signalCode === null && processStart(child.pid ?? 0) !== undefined;
  const write = (text: string) =>
    new Promise<void>((settle, fail) => void child.stdin?.write(text, (error) => (error ? fail(error) : settle())));
  return { pid: child.pid, alive, write, tell };
}

/** Fails only when the program has ended: otherwise it might go on behind the back of whoever hears of the failure. */
async function tellAndWait(stdin: Writable | null, input: Input, ended: Promise<Ended>): Promise<Ended> {
  const telling = typeof input === 'function' ? input((text) => void stdin?.write(text)) : Promise.resolve(void stdin?.write(input));
  const told = telling.finally(() => stdin?.end());
  told.catch(() => {});
  const end = await ended;
  await told;
  return end;
}

/** When a process started, in ticks since boot: together with its number it is that process and no other. Undefined: it has ended. */
export function processStart(pid: number): number | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? undefined : Number(rest[18]);
}

/** The words of a process's command line, each with a NUL behind it; empty for a process that has ended. */
export const commandOf = (pid: number) => readText(`/proc/${pid}/cmdline`) ?? '';

export function signalProcess(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Looks often at first, as most things happen at once. */
export async function waitUntil(done: () => boolean, millisecondsMax: number): Promise<boolean> {
  const until = performance.now() + millisecondsMax;
  for (let pause = 1; !done(); pause = Math.min(pause * 1.5, 50)) {
    if (performance.now() >= until) return false;
    await sleep(pause);
  }
  return true;
}
