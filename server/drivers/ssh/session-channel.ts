/**
 * One session on a connection: what a client says before it asks for something, what it asks for, and the line between the two from then on. Agents,
 * screens and sockets of the client are not taken, whatever it offers.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { ServerChannel, Session } from 'ssh2';
import { openChannelOutput, type ChannelOutput } from './channel-output.ts';

export interface Asked {
  want: Want;
  /** The variables that the client sent, of those that it may send. */
  variables: ReadonlyMap<string, string>;
  /** Undefined: the client has no terminal, or wants none. */
  terminal: Terminal | undefined;
  line: Line;
}

export type Want = { kind: 'shell' } | { kind: 'command'; line: string } | { kind: 'subsystem'; name: string };

export interface Terminal {
  /** Such as `xterm-256color`. */
  name: string;
  columns: number;
  rows: number;
}

export interface Line extends Pick<ChannelOutput, 'send'> {
  input: Readable;
  /** A sentence for people: among the errors, or on the terminal. */
  say(sentence: string): void;
  end(exitCode: number): void;
  /** Says why the session is refused, and ends it. */
  refuse(sentence: string): void;
  /** What the client tells while the line is open; what it told before anybody listened is told then. */
  listen(listener: LineListener): void;
  /** Aborted when the client has closed the channel, or went away. */
  gone: AbortSignal;
}

export interface LineListener {
  resize(columns: number, rows: number): void;
  signal(name: NodeJS.Signals): void;
}

export interface SessionRules {
  variables: readonly string[];
  run(asked: Asked): void;
}

const variableCharactersMax = 200;
const cellsMax = 1000;
const usualTerminal = { name: 'xterm-256color', columns: 80, rows: 24 };
const refusedCode = 1;

const signals: Record<string, NodeJS.Signals> = {
  ABRT: 'SIGABRT',
  ALRM: 'SIGALRM',
  HUP: 'SIGHUP',
  INT: 'SIGINT',
  KILL: 'SIGKILL',
  QUIT: 'SIGQUIT',
  TERM: 'SIGTERM',
  USR1: 'SIGUSR1',
  USR2: 'SIGUSR2',
};

/** `opened` is told of the channel once there is one, so that its buffers are watched. */
export function serveSession(
  session: Session,
  socket: Socket,
  gone: AbortSignal,
  rules: SessionRules,
  opened: (channel: ServerChannel) => void,
) {
  const variables = new Map<string, string>();
  const told = tellLater();
  let terminal: Terminal | undefined;
  let isBusy = false;

  session.on('env', (accept, reject, { key, val }) => {
    const isWanted = rules.variables.includes(key) && val.length <= variableCharactersMax;
    if (isWanted) variables.set(key, val);
    (isWanted ? accept : reject)?.();
  });
  session.on('pty', (accept, _, { term, cols, rows }) => {
    terminal = { name: /^[\w.+-]{1,64}$/.test(term) ? term : usualTerminal.name, ...sizeOf(cols, rows) };
    accept?.();
  });
  session.on('window-change', (accept, _, { cols, rows }) => {
    const size = sizeOf(cols, rows);
    told.resize(size.columns, size.rows);
    accept?.();
  });
  session.on('signal', (accept, reject, { name }: { name: string }) => {
    const known = Object.hasOwn(signals, name) ? signals[name] : undefined;
    if (known) told.signal(known);
    (known ? accept : reject)?.();
  });

  /** Accepts at once: after the client has said that nothing more will come, ssh2 no longer opens the channel. */
  const begin = (accept: () => ServerChannel, reject: () => void, want: Want) => {
    if (isBusy) return reject?.();
    isBusy = true;
    const channel = accept();
    channel.on('error', () => {});
    opened(channel);
    rules.run({ want, variables, terminal, line: lineOf(channel, socket, gone, terminal !== undefined, told.listen) });
  };
  session.on('shell', (accept, reject) => begin(accept, reject, { kind: 'shell' }));
  session.on('exec', (accept, reject, { command }) => begin(accept, reject, { kind: 'command', line: command }));
  session.on('subsystem', (accept, reject, { name }) => begin(accept, reject, { kind: 'subsystem', name }));
}

const within = (cells: number, usual: number) => (cells >= 1 && cells <= cellsMax ? cells : usual);
const sizeOf = (columns: number, rows: number) => ({
  columns: within(columns, usualTerminal.columns),
  rows: within(rows, usualTerminal.rows),
});

/** Keeps what the client tells before anybody listens: the last size, and the last signal. */
function tellLater(): LineListener & { listen(listener: LineListener): void } {
  let listener: LineListener | undefined;
  let [size, signal]: [[number, number] | undefined, NodeJS.Signals | undefined] = [undefined, undefined];
  return {
    resize: (columns, rows) => (listener ? listener.resize(columns, rows) : (size = [columns, rows])),
    signal: (name) => (listener ? listener.signal(name) : (signal = name)),
    listen: (now) => {
      listener = now;
      if (size) now.resize(...size);
      if (signal) now.signal(signal);
    },
  };
}

function lineOf(channel: ServerChannel, socket: Socket, gone: AbortSignal, hasTerminal: boolean, listen: Line['listen']): Line {
  const output = openChannelOutput(channel, socket, gone);
  const say = (sentence: string) =>
    hasTerminal ? output.write(Buffer.from(`${sentence}\r\n`)) : output.writeError(Buffer.from(`${sentence}\n`));
  const end = async (exitCode: number) => {
    await output.write(Buffer.alloc(0));
    if (gone.aborted) return;
    channel.exit(exitCode);
    channel.end();
  };
  return {
    input: channel,
    gone,
    listen,
    send: output.send,
    say: (sentence) => void say(sentence),
    end: (exitCode) => void end(exitCode),
    refuse: (sentence) => {
      void say(sentence);
      void end(refusedCode);
    },
  };
}
