/**
 * Conversations with Git clients. `git upload-pack` and `git receive-pack` do the talking; when something is pushed, their hooks ask the platform
 * through a socket that they inherit (hooks/pre-receive), so that nobody else can speak in their name.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { Problem } from '../../kernel/problem.ts';
import { environmentOf, type Settings } from './command.ts';
import type { Conversation, PushHooks, RefUpdate, Served } from './git.ts';

const conversationsMax = 100;
const stopSecondsMax = 5;
const hooksFolder = join(import.meta.dirname, 'hooks');

let underWay = 0;

const argumentsOf: Record<Conversation['part'], readonly string[]> = {
  advertisement: ['--stateless-rpc', '--http-backend-info-refs'],
  request: ['--stateless-rpc'],
  whole: [],
};

export function serve(gitDir: string, conversation: Conversation): Served {
  if (underWay >= conversationsMax) throw new Problem('unavailable', 'Too many are fetching and pushing just now; try again in a moment.');
  const { service, part, protocol, hooks } = conversation;
  const child = spawn(
    'git',
    [service, '--strict', ...argumentsOf[part], gitDir].filter((arg) => service === 'upload-pack' || arg !== '--strict'),
    {
      cwd: '/',
      env: { ...environmentOf(settingsOf(conversation)), ...(protocol !== undefined && { GIT_PROTOCOL: protocol }) },
      stdio: ['pipe', 'pipe', 'pipe', hooks ? 'pipe' : 'ignore'],
    },
  );
  underWay += 1;
  const [, , , socket] = child.stdio;
  const gone = new AbortController();
  const talk = hooks && socket ? answerHooks(socket as Duplex, hooks, gone.signal) : undefined;
  child.stdin?.on('error', () => {});
  const ended = (async () => {
    const code = await new Promise<number>((resolve) => {
      child.once('error', () => resolve(127));
      child.once('exit', (exit) => resolve(exit ?? 128));
    });
    underWay -= 1;
    gone.abort();
    await talk?.ended;
    await hooks?.ended();
    return code;
  })();
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error('git was started without its streams');
  const abandon = () => {
    gone.abort();
    stdin.destroy();
    stdout.resume();
    stderr.resume();
    if (talk?.hasBegun()) return;
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), stopSecondsMax * 1000).unref();
  };
  return { stdin, stdout, stderr, ended, abandon };
}

const settingsOf = ({ hiddenRefs, packBytesMax, hooks }: Conversation): Settings => ({
  'core.hooksPath': hooks ? hooksFolder : '/dev/null',
  'receive.maxInputSize': String(packBytesMax),
  'receive.keepAlive': '5',
  ...(hiddenRefs.length > 0 && { 'transfer.hideRefs': hiddenRefs }),
});

const linesMax = 3000;
const lineCharactersMax = 20_000;

/** A hook tells what it is about, line by line up to `end`, and then copies the lines it is told until `+` or `-`, which says how it ends. */
function answerHooks(socket: Duplex, hooks: PushHooks, gone: AbortSignal) {
  let begun = false;
  const say = (text: string) => new Promise<void>((resolve) => socket.write(text, () => resolve()));
  socket.on('error', () => {});

  const answer = async (told: readonly string[]) => {
    const { name, updates, options } = parseTold(told);
    if (name === 'post-receive') {
      for await (const line of hooks.after(updates)) {
        if (gone.aborted) break;
        await say(`=${oneLine(line)}\n`);
      }
      return say('+\n');
    }
    const lines = await hooks.before(updates, options);
    begun = true;
    return say(`${lines.map((line) => `=${oneLine(line)}\n`).join('')}+\n`);
  };

  const ended = (async () => {
    let told: string[] = [];
    for await (const line of createInterface({ input: socket })) {
      if (told.length >= linesMax || line.length > lineCharactersMax) return say('=Too much is pushed at once; push fewer branches.\n-\n');
      if (line !== 'end') told.push(line);
      else {
        await answer(told).catch((error: unknown) => say(`=${oneLine(sentenceOf(error))}\n-\n`));
        told = [];
      }
    }
  })().catch(() => {});
  return { ended, hasBegun: () => begun };
}

const sentenceOf = (error: unknown) => {
  if (error instanceof Problem) return error.message;
  return 'Something went wrong on our side; push again, and tell the operator if it stays so.';
};

/** It ends up in a terminal: no line breaks, and nothing that moves its cursor. */
// oxlint-disable-next-line no-control-regex -- control characters are what is left out
const oneLine = (text: string) => text.replaceAll(/[\u0000-\u0008\u000a-\u001a\u001c-\u001f\u007f]/g, ' ');

const nothing = /^0+$/;

function parseTold([name = '', ...lines]: readonly string[]) {
  const updates: RefUpdate[] = [];
  const options: string[] = [];
  for (const line of lines) {
    const [kind = '', ...fields] = line.split(' ');
    if (kind === 'option') options.push(fromHex(fields[0]));
    if (kind !== 'ref') continue;
    const [from = '', to = '', isFastForward = '', ref] = fields;
    updates.push({
      ref: fromHex(ref),
      from: nothing.test(from) ? undefined : from,
      to: nothing.test(to) ? undefined : to,
      isFastForward: isFastForward === '1',
    });
  }
  return { name, updates, options };
}

const fromHex = (text = '') => Buffer.from(text, 'hex').toString('utf8');
