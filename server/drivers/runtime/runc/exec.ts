/**
 * Another process in a running container, with pipes or with a terminal. It is a child of this process only on paper: its own number is kept
 * with the container, so that it can be sent signals, and so that what a killed platform left running is found and ended.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import { Problem } from '../../../kernel/problem.ts';
import type { Command, Execution } from '../runtime.ts';
import { commandProcess } from './bundle.ts';
import { processesIn } from './cgroups.ts';
import { type Description, foundDescription } from './description.ts';
import { type RuntimeFolders, bundleOf, cgroupOf, entriesOf, readText } from './runtime-folders.ts';
import { processStart, signalProcess, waitUntil } from './processes.ts';
import { runningOf } from './state.ts';

const startMillisecondsMax = 10_000;
/** Processes that a command left behind may hold on to its output; nobody waits for them once nothing comes any more. */
const silenceMillisecondsMax = 500;
const hangUpMillisecondsMax = 3000;
const killAgainMilliseconds = 250;
const killsMax = 20;
const terminalBytesMax = 256 * 1024;
const typedAtOnceBytesMax = 4096;
const typingPauseMillisecondsMin = 1;
const typingPauseMillisecondsMax = 50;
const notStarted = 127;

const execsFolder = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'execs');

interface Files {
  process: string;
  pid: string;
}

export function startExecution(folders: RuntimeFolders, name: string, command: Command): Execution {
  const description = foundDescription(folders, name);
  if (!runningOf(folders, name)) throw new Problem('conflict', `${name} is not running; start it first.`);
  const files = writeFiles(folders, description, command);
  const args = ['--root', folders.runcRoot, 'exec', '--process', files.process, '--pid-file', files.pid, name];
  const { abandon, ...execution } = command.terminal ? withTerminal(args, command.terminal) : withPipes(args);
  const ended = { now: false };
  const exited = execution.exited.then((code) => {
    ended.now = true;
    const started = existsSync(files.pid);
    for (const file of Object.values(files)) rmSync(file, { force: true });
    return started || code === 0 ? code : notStarted;
  });
  const pid = () => Number(readText(files.pid));
  const isThere = () => waitUntil(() => ended.now || pid() > 0, startMillisecondsMax);
  const begun = () => waitUntil(() => ended.now || hasBegun(pid()), startMillisecondsMax);
  const signal = async (signal: NodeJS.Signals) => {
    if (signal === 'SIGKILL') return kill();
    await begun();
    // The command leads a process group of its own from the start.
    if (!ended.now && pid() > 0) signalProcess(-pid(), signal);
  };
  const hangUp = async () => {
    await begun();
    if (ended.now) return;
    const session = pid();
    // A stopped process receives the signal only when it continues.
    for (const name of ['SIGHUP', 'SIGCONT'] as const) signalSession(folders, description.name, session, name);
    if (!(await waitUntil(() => ended.now, hangUpMillisecondsMax))) await kill();
  };
  /**
   * What is just being started is not found by the first look; and as runc waits for everybody who holds the output, also for what it started in a
   * session of its own, it is at last ended without having heard of an end.
   */
  const kill = async () => {
    await isThere();
    for (let times = 0; !ended.now && times < killsMax; times++) {
      killSession(folders, name, pid());
      await waitUntil(() => ended.now, killAgainMilliseconds);
    }
    if (!ended.now) abandon();
  };
  if (command.leavesNothing) {
    const isQuiet = quietOf(execution.stdout, execution.stderr);
    const timer = setInterval(() => {
      // runc knows how the command ended, and says so when nobody holds the output any more.
      if (isQuiet() && pid() > 0 && !existsSync(`/proc/${pid()}`)) killSession(folders, name, pid());
    }, silenceMillisecondsMax);
    void exited.finally(() => clearInterval(timer)).catch(() => {});
  }
  // Whoever closes the output has gone away, and will not say when to end.
  execution.stdout.once('close', () => {
    if (!ended.now && !execution.stdout.readableEnded) void kill();
  });
  return { ...execution, exited, signal, hangUp };
}

/** The environment may hold secrets, which arguments would show to all users of the machine. */
function writeFiles(folders: RuntimeFolders, description: Description, command: Command): Files {
  const folder = execsFolder(folders, description.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const id = `${process.pid}-${processStart(process.pid)}-${randomBytes(8).toString('hex')}`;
  const files = { process: join(folder, `${id}.json`), pid: join(folder, `${id}.pid`) };
  writeFileSync(files.process, JSON.stringify(commandProcess(description, command)), { mode: 0o600 });
  return files;
}

interface Started extends Omit<Execution, 'signal' | 'hangUp'> {
  /** Counts the execution as ended, whatever becomes of the command. */
  abandon(): void;
}

function withPipes(args: string[]): Started {
  const child = spawn('runc', args, { stdio: 'pipe' });
  child.stdin.on('error', () => {});
  const exited = new Promise<number>((settle, fail) => {
    child.once('error', fail);
    child.once('exit', (code, signal) => {
      for (const output of [child.stdout, child.stderr]) closeWhenSilent(output);
      settle(code ?? 128 + constants.signals[signal ?? 'SIGKILL']);
    });
  });
  const abandon = () => void child.kill('SIGKILL');
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, resize: () => {}, exited, abandon };
}

function withTerminal(args: string[], { columns, rows }: NonNullable<Command['terminal']>): Started {
  const terminal = spawnTerminal('runc', args, { cols: columns, rows, encoding: null });
  const stdout = new PassThrough({ highWaterMark: terminalBytesMax });
  terminal.onData((data: string | Buffer) => {
    if (stdout.write(data)) return;
    terminal.pause();
    stdout.once('drain', () => terminal.resume());
  });
  const exited = new Promise<number>((settle) => {
    terminal.onExit(({ exitCode, signal }) => {
      stdout.end();
      settle(signal ? 128 + signal : exitCode);
    });
  });
  const keyboard = keyboardOf(terminal);
  const stdin = new Writable({
    write: (chunk: Buffer, _, done) => keyboard.type(chunk, done),
    // The end of input as a person would type it: Control-D.
    final: (done) => keyboard.type(Buffer.from('\u0004'), done),
  });
  stdin.on('error', () => {});
  const resize = (columns: number, rows: number) => {
    if (keyboard.isThere()) terminal.resize(columns, rows);
  };
  return { stdin, stdout, stderr: Readable.from([]), resize, exited, abandon: () => terminal.kill('SIGKILL') };
}

/**
 * The terminal's own `write` takes text only, which cuts characters at the ends of chunks; and while nobody reads what was typed, it would stop
 * this whole process. So it is written here, a little at a time, for as long as the terminal takes it.
 */
function keyboardOf(terminal: object) {
  const [fd, socket]: unknown[] = [Reflect.get(terminal, 'fd'), Reflect.get(terminal, '_socket')];
  if (typeof fd !== 'number' || !(socket instanceof Socket)) throw new Error('A terminal is no longer kept in a socket');
  const isThere = () => !socket.destroyed;
  const type = (bytes: Buffer, done: (error?: Error) => void, pause = typingPauseMillisecondsMin) => {
    let left = bytes;
    try {
      while (left.length > 0 && isThere()) {
        const taken = takenAtOnce(fd, left.subarray(0, typedAtOnceBytesMax));
        left = left.subarray(taken);
        if (taken > 0) continue;
        const next = Math.min(bytes.length > left.length ? typingPauseMillisecondsMin : pause * 2, typingPauseMillisecondsMax);
        return void setTimeout(() => type(left, done, next), pause);
      }
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)));
    }
    return done();
  };
  return { type, isThere };
}

function takenAtOnce(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
}

type Output = Readable & { bytesRead?: number };

/** Whether nothing came since this was last asked. A slow reader gets all that came before. */
function quietOf(...outputs: readonly Output[]): () => boolean {
  const bytesNow = () => outputs.reduce((sum, { bytesRead = 0 }) => sum + bytesRead, 0);
  let before = bytesNow();
  return () => {
    const isQuiet = bytesNow() === before && outputs.every(({ readableLength }) => readableLength === 0);
    before = bytesNow();
    return isQuiet;
  };
}

/** The output ends by itself, unless another process holds on to it. */
function closeWhenSilent(output: Output) {
  const isQuiet = quietOf(output);
  const timer = setInterval(() => {
    if (isQuiet()) output.destroy();
  }, silenceMillisecondsMax);
  timer.unref();
  output.once('close', () => clearInterval(timer));
}

/** Until the command itself is there, its process is runc's, which may lose a signal, but for SIGKILL, that comes while it becomes the command. */
const hasBegun = (pid: number) => pid > 0 && !(readText(`/proc/${pid}/comm`) ?? '').startsWith('runc:[');

const killSession = (folders: RuntimeFolders, name: string, session: number) => signalSession(folders, name, session, 'SIGKILL');

/** Signals everything that the command started, except what went into a session of its own. */
function signalSession(folders: RuntimeFolders, name: string, session: number, signal: NodeJS.Signals) {
  for (const pid of processesIn(cgroupOf(folders, name))) if (pid === session || sessionOf(pid) === session) signalProcess(pid, signal);
}

function sessionOf(pid: number): number {
  const stat = readText(`/proc/${pid}/stat`) ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
}

/** Ends executions whose platform process was killed. Others may belong to another process of this platform, which is still there. */
export function endOldExecutions(folders: RuntimeFolders, name: string) {
  const folder = execsFolder(folders, name);
  for (const file of entriesOf(folder)) {
    const [owner, startedAt] = file.split('-').map(Number);
    if (owner !== undefined && owner !== process.pid && processStart(owner) === startedAt) continue;
    const pid = Number(readText(join(folder, file)));
    if (file.endsWith('.pid') && pid > 0) killSession(folders, name, pid);
    rmSync(join(folder, file), { force: true });
  }
}

/** Runs a probe, of which only the exit code matters. */
export async function runInside(folders: RuntimeFolders, name: string, argv: readonly string[], millisecondsMax: number): Promise<number> {
  const [program = '', ...args] = argv;
  const execution = startExecution(folders, name, { argv: [program, ...args] });
  execution.stdin.end();
  execution.stdout.resume();
  execution.stderr.resume();
  const timer = setTimeout(() => void execution.signal('SIGKILL'), millisecondsMax);
  return execution.exited.finally(() => clearTimeout(timer));
}
