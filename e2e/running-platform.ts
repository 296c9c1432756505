/**
 * One process of `./offshoot start`, from its first moment to its last, as an operator sees it. It can be stopped in order and killed in
 * every way. Every wait has a bound, and what fails carries all that the platform said until then.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { eventually } from './eventually.ts';
import { freeze, isAlive, postgresIn, signal, titleOf, treeOf, waitedMilliseconds } from './processes.ts';

const readySecondsMax = 120;
const credentialsSecondsMax = 60;
/** Also of one that is to end as soon as it has started. */
const endSecondsMax = 150;
const outputCharactersMax = 1_000_000;

export interface Credentials {
  email: string;
  password: string;
  apiToken: string;
}

export class RunningPlatform {
  readonly pid: number;
  stdout = '';
  stderr = '';
  private readonly child: ChildProcess;
  private readonly data: string;
  private readonly onReady: () => Promise<void>;
  private readonly startedAt = performance.now();
  private readyAt: number | undefined;
  /** Of the time until then, what the machine did something else in. */
  waitedMilliseconds = 0;
  private closed = false;

  constructor(
    command: string,
    data: string,
    env: Record<string, string>,
    args: readonly string[] = [],
    onReady: () => Promise<void> = async () => {},
  ) {
    this.data = data;
    this.onReady = onReady;
    this.child = spawn(command, ['start', ...args], { cwd: tmpdir(), env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.pid = this.child.pid ?? 0;
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout = (this.stdout + text).slice(-outputCharactersMax);
      if (this.isReady && this.readyAt === undefined) this.noteReady();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-outputCharactersMax);
    });
    this.child.once('close', () => (this.closed = true));
  }

  get isReady() {
    return /^Offshoot is ready /m.test(this.stdout);
  }

  private noteReady() {
    this.readyAt = performance.now();
    this.waitedMilliseconds = waitedMilliseconds(this.pid);
  }

  /** From the command to the word "ready". */
  get startMilliseconds() {
    return (this.readyAt ?? Number.POSITIVE_INFINITY) - this.startedAt;
  }

  /** All of them, or none: a kill may fall between the lines. */
  get printedCredentials(): Credentials | undefined {
    const [email, password, apiToken] = ['e-mail', 'password', 'API token'].map(
      (name) => new RegExp(`^  ${name} +(.+)\n`, 'm').exec(this.stdout)?.[1],
    );
    return email && password && apiToken ? { email, password, apiToken } : undefined;
  }

  async untilReady(): Promise<this> {
    await this.until('is ready', () => this.isReady, readySecondsMax);
    await this.onReady();
    return this;
  }

  async credentials(): Promise<Credentials> {
    await this.until('shows the first credentials', () => this.printedCredentials !== undefined, credentialsSecondsMax);
    return this.printedCredentials as Credentials;
  }

  /** Waits for what a running platform should do or say. */
  async until(what: string, isSo: () => boolean, secondsMax: number): Promise<void> {
    // What was so once may be over by now.
    let wasSo = false;
    await eventually(
      `the platform ${what}`,
      () => (wasSo = isSo()) || this.closed,
      secondsMax,
      () => this.said,
    );
    if (!wasSo && !isSo()) throw new Error(`The platform has ended, in place of what was waited for: it ${what}.\n${this.said}`);
  }

  /** Acts in the very moment the platform says something. */
  when(said: RegExp, act: () => void) {
    const hear = () => {
      if (!said.test(this.stdout)) return;
      this.child.stdout?.off('data', hear);
      act();
    };
    this.child.stdout?.on('data', hear);
  }

  /** As an operator stops it. */
  async stop(): Promise<void> {
    this.signal('SIGTERM');
    await this.untilStopped();
  }

  signal(name: NodeJS.Signals) {
    this.child.kill(name);
  }

  /** In order, that is. */
  async untilStopped(): Promise<void> {
    const code = await this.untilEnded();
    if (code !== 0) throw new Error(`The platform did not stop in order but with ${code ?? this.child.signalCode}.\n${this.said}`);
  }

  /** Answers the exit code, or null if a signal ended it. */
  async untilEnded(): Promise<number | null> {
    await eventually(
      'the platform ends',
      () => this.closed,
      endSecondsMax,
      () => this.said,
    );
    return this.child.exitCode;
  }

  /** The server and its PostgreSQL at one moment, as when the power fails. */
  async killAll(): Promise<void> {
    // Of one that has ended, the number may be somebody else's by now.
    const tree = this.hasEnded ? [] : freeze(this.pid);
    for (const pid of tree) signal(pid, 'SIGKILL');
    await eventually(
      'the killed processes are gone',
      () => !tree.some(isAlive),
      endSecondsMax,
      () => this.said,
    );
    await this.untilEnded();
  }

  /** The server alone. */
  async killServer(): Promise<void> {
    this.signal('SIGKILL');
    await this.untilEnded();
  }

  /** The postmaster alone; PostgreSQL's other processes are left to notice. */
  /** The first process of PostgreSQL; the others end with it. Answers which there were. */
  killPostgres(): number[] {
    const all = postgresIn(this.data);
    // Parents come first.
    this.kill(treeOf(this.pid).find((pid) => all.includes(pid)));
    return all;
  }

  /** One connection to PostgreSQL, which then throws out all the others and recovers by itself. Answers which there were. */
  killPostgresConnection(): number[] {
    const connections = postgresIn(this.data).filter((pid) => titleOf(pid).includes('[local]'));
    this.kill(connections[0]);
    return connections;
  }

  private get hasEnded() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private kill(pid: number | undefined) {
    if (pid === undefined) throw new Error(`There is no such process to kill.\n${this.said}`);
    signal(pid, 'SIGKILL');
  }

  get said() {
    return `The platform said:\n${this.stdout}\n${this.stderr}`;
  }
}
