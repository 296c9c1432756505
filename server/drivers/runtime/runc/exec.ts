/**
 * Another process in a running container, with pipes or with a terminal. It is a child of this process only on paper: its own number is kept
 * with the container, so that it can be sent signals, and so that what a killed platform left running is found and ended.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import { Problem } from '../../../kernel/problem.ts';
import type { Command, Execution } from '../runtime.ts';
import { commandProcess } from './bundle.ts';
import { processesIn } from './cgroups.ts';
import { type Description, foundDescription } from './description.ts';
import { type Places, bundleOf, cgroupOf, entriesOf, readText } from './places.ts';
import { signalProcess, waitUntil } from './processes.ts';
import { runningOf } from './state.ts';

const startMillisecondsMax = 10_000;
/** What a process left behind may hold on to its output; nobody waits for that. */
const outputMillisecondsMax = 500;
const notStarted = 127;

const execsFolder = (places: Places, name: string) => join(bundleOf(places, name), 'execs');

interface Files {
  process: string;
  pid: string;
}

export function startExecution(places: Places, name: string, command: Command): Execution {
  const description = foundDescription(places, name);
  if (!runningOf(places, name)) throw new Problem('conflict', `${name} is not running; start it first.`);
  const files = writeFiles(places, description, command);
  const args = ['--root', places.runcRoot, 'exec', '--process', files.process, '--pid-file', files.pid, name];
  const execution = command.terminal ? withTerminal(args, command.terminal) : withPipes(args);
  const ended = { now: false };
  const exited = execution.exited.then((code) => {
    ended.now = true;
    const started = existsSync(files.pid);
    for (const file of Object.values(files)) rmSync(file, { force: true });
    return started || code === 0 ? code : notStarted;
  });
  const pid = () => Number(readText(files.pid));
  const signal = async (signal: NodeJS.Signals) => {
    await waitUntil(() => ended.now || pid() > 0, startMillisecondsMax);
    if (!ended.now) signalProcess(pid(), signal);
  };
  // Who closes the output has gone away, and will not say when to end.
  execution.stdout.once('close', () => {
    if (ended.now || execution.stdout.readableEnded) return;
    void waitUntil(() => ended.now || pid() > 0, startMillisecondsMax).then(() => ended.now || killSession(places, name, pid()));
  });
  return { ...execution, exited, signal };
}

/** The environment may hold secrets, which arguments would show to all users of the machine. */
function writeFiles(places: Places, description: Description, command: Command): Files {
  const folder = execsFolder(places, description.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const id = randomBytes(8).toString('hex');
  const files = { process: join(folder, `${id}.json`), pid: join(folder, `${id}.pid`) };
  writeFileSync(files.process, JSON.stringify(commandProcess(description, command)), { mode: 0o600 });
  return files;
}

type Started = Omit<Execution, 'signal'>;

function withPipes(args: string[]): Started {
  const child = spawn('runc', args, { stdio: 'pipe' });
  child.stdin.on('error', () => {});
  const exited = new Promise<number>((settle, fail) => {
    child.once('error', fail);
    child.once('exit', (code, signal) => {
      const done = () => settle(code ?? 128 + constants.signals[signal ?? 'SIGKILL']);
      const timer = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, outputMillisecondsMax);
      timer.unref();
      done();
    });
  });
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, resize: () => {}, exited };
}

function withTerminal(args: string[], { columns, rows }: NonNullable<Command['terminal']>): Started {
  const terminal = spawnTerminal('runc', args, { cols: columns, rows, encoding: null });
  const stdout = new PassThrough();
  terminal.onData((data: string | Buffer) => {
    if (!stdout.write(data)) {
      terminal.pause();
      stdout.once('drain', () => terminal.resume());
    }
  });
  const exited = new Promise<number>((settle) => {
    terminal.onExit(({ exitCode, signal }) => {
      stdout.end();
      settle(signal ? 128 + signal : exitCode);
    });
  });
  const stdin = new Writable({
    write: (chunk: Buffer, _, done) => {
      terminal.write(chunk.toString());
      done();
    },
    // What a person would type.
    final: (done) => {
      terminal.write('\u0004');
      done();
    },
  });
  return { stdin, stdout, stderr: Readable.from([]), resize: (columns, rows) => terminal.resize(columns, rows), exited };
}

/** Everything it started, unless that went into a session of its own. */
function killSession(places: Places, name: string, session: number) {
  for (const pid of processesIn(cgroupOf(places, name))) if (pid === session || sessionOf(pid) === session) signalProcess(pid, 'SIGKILL');
}

function sessionOf(pid: number): number {
  const stat = readText(`/proc/${pid}/stat`) ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
}

/** Those whose platform was killed. */
export function endOldExecutions(places: Places, name: string) {
  const folder = execsFolder(places, name);
  for (const file of entriesOf(folder)) {
    const pid = Number(readText(join(folder, file)));
    if (file.endsWith('.pid') && pid > 0) killSession(places, name, pid);
    rmSync(join(folder, file), { force: true });
  }
}

/** For a probe: only the exit code. */
export async function runInside(places: Places, name: string, argv: readonly string[], millisecondsMax: number): Promise<number> {
  const [program = '', ...args] = argv;
  const execution = startExecution(places, name, { argv: [program, ...args] });
  execution.stdin.end();
  execution.stdout.resume();
  execution.stderr.resume();
  const timer = setTimeout(() => void execution.signal('SIGKILL'), millisecondsMax);
  return execution.exited.finally(() => clearTimeout(timer));
}
