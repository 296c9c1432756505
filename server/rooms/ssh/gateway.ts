/**
 * Into running apps: a shell, a command, a transfer of files, or a connection to what the app's relationships lead to. For each the visitor is asked
 * about anew, and the container looked for anew: a connection may outlive many deployments.
 */
import { connect, type Socket } from 'node:net';
import type { Credential } from '../../identity.ts';
import type { Execution } from '../../drivers/runtime/runtime.ts';
import type { Asked, Guest, Terminal, Visitor, Want } from '../../drivers/ssh/ssh-server.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { endpointsFrom, fileTransferCommand, shellCommand, typedCommand } from '../deployments/public.ts';
import { wakeEnvironment } from '../deployments/work.ts';
import { admit, notRunning, sessionTargetOf, type Admission } from './admission.ts';
import { openSessionBook, type Session } from './sessions.ts';

/** What fits into one packet: the protocol itself drops larger ones. */
const commandBytesMax = 30_000;
/** How many commands and shells may run in one instance at once, over all connections to this process. */
const executionsPerInstanceMax = 64;
const connectSecondsMax = 10;
const oops = 'Something went wrong on our side; try again, and tell the operator if it happens again.';

export function openGateway(platform: Platform) {
  const book = openSessionBook(platform);
  const executions = new Map<string, number>();
  return {
    receive: (visitor: Visitor<Credential>): Guest => {
      let begun: Promise<Session> | undefined;
      const enter = async () => {
        const admission = await admit(platform, visitor.who, visitor.user);
        // The first request begins the session. Where it is refused because there are too many, a later request may find room.
        begun ??= book.begin(visitor, admission).catch((error: unknown) => {
          begun = undefined;
          throw error;
        });
        const session = await begun;
        // The environment is woken after the session has begun, because one that has a session is not sent to sleep again.
        await wakeEnvironment(platform, admission.environment.project_id, admission.environment.id);
        return { admission, session };
      };
      enter().catch((error: unknown) => {
        if (!(error instanceof Problem)) platform.log.error({ err: error }, 'a session over SSH could not begin');
      });
      return {
        run: (asked) => void run(platform, enter, executions, asked),
        forward: (target) => forward(platform, enter, target),
      };
    },
    close: () => book.close(),
  };
}

type Enter = () => Promise<{ admission: Admission; session: Session }>;

async function run(platform: Platform, enter: Enter, executions: Map<string, number>, asked: Asked) {
  const { line } = asked;
  try {
    const command = commandFor(asked.want);
    const { admission, session } = await enter();
    const { container } = await sessionTargetOf(platform, admission);
    const runtime = await platform.inside();
    if ((await runtime.state(container)).status !== 'running') throw new Problem('conflict', notRunning(admission));
    const count = executions.get(container) ?? 0;
    if (count >= executionsPerInstanceMax)
      throw new Problem('too-many-requests', `Too many commands run in ${admission.runs} already; try again when some of them have ended.`);
    executions.set(container, count + 1);
    try {
      const execution = await runtime.exec(container, { ...command, ...terminalOf(command, asked.terminal) });
      const code = await carryBothWays(execution, asked, session);
      if (!session.closing.aborted && (await runtime.state(container)).status !== 'running')
        line.say(`This instance of ${admission.runs} was replaced or stopped; connect again to get into the one that runs now.`);
      line.end(code);
    } finally {
      const left = (executions.get(container) ?? 1) - 1;
      if (left > 0) executions.set(container, left);
      else executions.delete(container);
    }
  } catch (error) {
    if (!(error instanceof Problem)) platform.log.error({ err: error }, 'a command over SSH failed');
    line.refuse(error instanceof Problem ? error.message : oops);
  }
}

function commandFor(want: Want) {
  if (want.kind === 'shell') return shellCommand();
  if (want.kind === 'subsystem') {
    if (want.name === 'sftp') return fileTransferCommand();
    throw new Problem('invalid-request', 'The only subsystem here is sftp.');
  }
  if (want.line.includes('\0')) throw new Problem('invalid-request', 'A command cannot hold the character NUL.');
  if (Buffer.byteLength(want.line) > commandBytesMax)
    throw new Problem(
      'invalid-request',
      `A command may be at most ${commandBytesMax} bytes long; put a longer one into a file, and run that.`,
    );
  return typedCommand(want.line);
}

const terminalOf = ({ env }: ReturnType<typeof commandFor>, terminal: Terminal | undefined) =>
  terminal && { terminal, env: { ...env, TERM: terminal.name } };

/** Answers with the exit code, once all output is on its way. When the client goes away, its command is hung up. */
async function carryBothWays(execution: Execution, { line }: Asked, { closing }: Session): Promise<number> {
  const ended = AbortSignal.any([line.gone, closing]);
  const hangUp = () => {
    if (closing.aborted) line.say(String(closing.reason));
    void execution.hangUp();
  };
  if (ended.aborted) hangUp();
  else ended.addEventListener('abort', hangUp, { once: true });
  line.listen({ resize: execution.resize, signal: (name) => void execution.signal(name).catch(() => {}) });
  line.input.pipe(execution.stdin);
  const sent = line.send(execution.stdout, execution.stderr);
  const code = await execution.exited;
  if (!ended.aborted) await sent;
  for (const output of [execution.stdout, execution.stderr]) if (ended.aborted) output.destroy();
  ended.removeEventListener('abort', hangUp);
  return code;
}

/** Connects only to what the app's relationships name, by the names and addresses that the app is given: no name is resolved. */
async function forward(platform: Platform, enter: Enter, { host, port }: { host: string; port: number }): Promise<Socket | undefined> {
  try {
    const { admission } = await enter();
    const { deployed } = await sessionTargetOf(platform, admission);
    const endpoints = await endpointsFrom(await platform.inside(), deployed, admission.runs);
    const endpoint = endpoints.find((each) => each.port === port && each.hosts.includes(host));
    return endpoint && (await connected(endpoint.address, endpoint.port));
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

const connected = (host: string, port: number) =>
  new Promise<Socket | undefined>((resolve) => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
    const late = setTimeout(() => socket.destroy(), connectSecondsMax * 1000);
    socket.once('connect', () => {
      clearTimeout(late);
      resolve(socket);
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(late);
      resolve(undefined);
    });
  });
