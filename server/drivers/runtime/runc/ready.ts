/** Waits until a container passes its probe, and says in words why it did not. */
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectToSocketAt } from '../../../../edge/upstream/unix-socket.ts';
import { Problem } from '../../../kernel/problem.ts';
import { refusedForkCount } from './cgroups.ts';
import type { ContainerState } from '../runtime.ts';
import type { Description } from './description.ts';
import { type RuntimeFolders, cgroupOf } from './runtime-folders.ts';
import { lastLines } from './logs.ts';
import { lastEnd, runningOf } from './state.ts';

type Probe = NonNullable<Description['probe']>;
/** Undefined: the probe passed. Otherwise what was found instead, as the rest of a sentence that begins with the container's name. */
type Finding = string | undefined;

/** Most containers are ready within a second, and somebody waits for them. */
const pauseMilliseconds = { first: 2, later: 200 };
const impatientMilliseconds = 1500;
const attemptMillisecondsMax = 5000;
const lastLinesMax = 10;
const endMillisecondsMax = 5000;

/** Where the container can be reached. */
export type Reached = Pick<ContainerState, 'address' | 'socket'>;

/** `runInside` gives the exit code. */
export async function waitUntilReady(
  folders: RuntimeFolders,
  description: Description,
  reached: Reached,
  runInside: (argv: readonly string[], millisecondsMax: number) => Promise<number>,
  signal: AbortSignal,
) {
  const { name, probe } = description;
  if (!probe) return;
  const start = performance.now();
  const until = start + probe.secondsMax * 1000;
  let finding: Finding;
  for (;;) {
    if (signal.aborted) throw new Problem('conflict', `${name} was removed before it was ready.`);
    if (!runningOf(folders, name)) throw await endedProblem(folders, description);
    finding = await look(probe, reached, runInside);
    if (finding === undefined) return;
    const pause = performance.now() - start < impatientMilliseconds ? pauseMilliseconds.first : pauseMilliseconds.later;
    if (performance.now() + pause > until) break;
    await sleep(pause);
  }
  throw await problemOf(folders, name, `${name} ${finding} within ${probe.secondsMax} seconds`, description);
}

function look(
  probe: Probe,
  { address = '', socket = '' }: Reached,
  runInside: (argv: readonly string[], millisecondsMax: number) => Promise<number>,
): Promise<Finding> {
  switch (probe.kind) {
    case 'port':
      return lookAtPort(address, probe.port);
    case 'http':
      return lookAtHttp(address, probe.port, probe.path);
    case 'socket':
      return lookAtSocket(socket);
    case 'command':
      return runInside(probe.argv, attemptMillisecondsMax).then((code) =>
        code === 0 ? undefined : `did not pass its check (${probe.argv[0]} ended with ${code})`,
      );
  }
}

const lookAtPort = (host: string, port: number) => connected(connect({ host, port }), `did not open port ${port}`);

/** Connects as the edge does, without following a link: the container decides what is there. */
const lookAtSocket = (path: string) => connected(connectToSocketAt(path), 'did not listen on its socket');

function connected(socket: Socket, otherwise: string): Promise<Finding> {
  return new Promise((settle) => {
    const close = (finding: Finding) => {
      socket.destroy();
      settle(finding);
    };
    socket.setTimeout(attemptMillisecondsMax);
    socket.once('connect', () => close(undefined));
    socket.once('timeout', () => close(otherwise));
    socket.once('error', () => close(otherwise));
  });
}

function lookAtHttp(host: string, port: number, path: string): Promise<Finding> {
  return new Promise((settle) => {
    const request = get({ host, port, path, agent: false, timeout: attemptMillisecondsMax }, (reply) => {
      reply.resume();
      const status = reply.statusCode ?? 0;
      settle(status >= 200 && status < 400 ? undefined : `answered ${status} at ${path}, and nothing better`);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => settle(`did not answer on port ${port}`));
  });
}

/** Its monitor may still be writing down how it ended. */
async function endedProblem(folders: RuntimeFolders, description: Description): Promise<Problem> {
  const { name, limits } = description;
  const until = performance.now() + endMillisecondsMax;
  let end = lastEnd(folders, name);
  for (; !end && performance.now() < until; end = lastEnd(folders, name)) await sleep(pauseMilliseconds.first);
  const words = end?.outOfMemory
    ? `${name} ran out of memory before it was ready: it may use ${limits.memoryBytes} bytes; give it more`
    : `${name} ended with code ${end?.code ?? 'unknown'} before it was ready`;
  return problemOf(folders, name, words, description);
}

async function problemOf(folders: RuntimeFolders, name: string, words: string, { limits }: Description): Promise<Problem> {
  const crowded = refusedForkCount(cgroupOf(folders, name)) > 0 ? ` It wanted more than the ${limits.pids} processes it may have.` : '';
  const lines = await lastLines(folders, name, lastLinesMax);
  const said = lines.length > 0 ? ` Its last lines:\n${lines.map(({ text }) => text).join('\n')}` : ' It said nothing.';
  return new Problem('unavailable', `${words}.${crowded}${said}`);
}
