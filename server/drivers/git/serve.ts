/**
 * Conversations with Git clients. `git upload-pack` and `git receive-pack` do the talking; when something is pushed, their hooks ask the platform
 * through a socket that they inherit (hooks/pre-receive), so that nobody else can speak in their name.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { tally } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import { boundedBy } from './bounded-pack.ts';
import { environmentOf, limited, type Settings } from './command.ts';
import type { Conversation, Pushed, PushHooks, RefUpdate, Served } from './git.ts';
import { refuseLargePush } from './push-size.ts';
import { isOwnOrShown, type Repository } from './pushed-objects.ts';

const conversationsMax = 100;
const conversationsPerRepositoryMax = 40;
const conversationsPerUserMax = 8;
/** For each party, from the outside in. */
const conversationsPerPartyMax = [80, 60];
/** Extra conversations beyond all of these, one each for owners who have none. */
const newcomersMax = 20;
const stopSecondsMax = 5;
/** While it works for somebody who fetches, Git says something every few seconds. */
const quietSecondsMax = 120;
const hooksFolder = join(import.meta.dirname, 'hooks');

/** How many conversations are under way: in all, of a party, in a repository, of a user. */
const underWay = tally();

/** Shares, so that nobody can hold all conversations. */
const sharesOf = (gitDir: string, { user, parties }: Conversation) => [
  {
    of: `user ${user}`,
    most: conversationsPerUserMax,
    sentence: 'You are fetching and pushing too often at once; wait for some to end.',
  },
  { of: `repository ${gitDir}`, most: conversationsPerRepositoryMax, sentence: tooMany },
  ...parties.map((party, level) => ({
    of: `party ${party}`,
    most: conversationsPerPartyMax[level] ?? conversationsMax,
    sentence: tooMany,
  })),
  { of: 'all', most: conversationsMax + (isNewcomer(parties) ? newcomersMax : 0), sentence: tooMany },
];
const isNewcomer = ([owner = '']: readonly string[]) => underWay.of(`party ${owner}`) === 0;
type Shares = ReturnType<typeof sharesOf>;

function refuseTooMany(shares: Shares) {
  for (const { of, most, sentence } of shares) if (underWay.of(of) >= most) throw new Problem('unavailable', sentence);
}

const tooMany = 'Too many are fetching and pushing just now; try again in a moment.';

const argumentsOf: Record<Conversation['part'], readonly string[]> = {
  advertisement: ['--stateless-rpc', '--http-backend-info-refs'],
  request: ['--stateless-rpc'],
  whole: [],
};

export function serve(gitDir: string, conversation: Conversation): Served {
  const { service, hooks, parties } = conversation;
  const shares = sharesOf(gitDir, conversation);
  refuseTooMany(shares);
  const child = start(gitDir, conversation);
  const leavePlace = underWay.add(...shares.map(({ of }) => of));
  const [, , , socket] = child.stdio;
  const gone = new AbortController();
  const talk = hooks && socket ? answerHooks({ gitDir, parties }, socket as Duplex, hooks, gone.signal) : undefined;
  child.stdin?.on('error', () => {});
  const ended = (async () => {
    const code = await new Promise<number>((resolve) => {
      child.once('error', () => resolve(127));
      child.once('exit', (exit) => resolve(exit ?? 128));
    });
    leavePlace();
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
  if (service === 'upload-pack') void ended.finally(whenQuiet(child, abandon));
  return { stdin, stdout, stderr, ended, abandon };
}

const start = (gitDir: string, conversation: Conversation): ChildProcess => {
  const { protocol, hooks } = conversation;
  return spawn(...limited(commandFor(gitDir, conversation)), {
    cwd: '/',
    env: { ...environmentOf(settingsOf(conversation)), ...(protocol !== undefined && { GIT_PROTOCOL: protocol }) },
    stdio: ['pipe', 'pipe', 'pipe', hooks ? 'pipe' : 'ignore'],
  });
};

function commandFor(gitDir: string, { service, part }: Conversation): string[] {
  const args = [...argumentsOf[part], gitDir];
  if (service === 'upload-pack') return ['git', service, '--strict', ...args];
  return part === 'advertisement' ? ['git', service, ...args] : boundedBy(['git', service, ...args]);
}

/** Calls when nothing has gone either way for too long. Returns how to stop looking. */
function whenQuiet({ stdin, stdout }: ChildProcess, call: () => void): () => void {
  const passed = () => (stdin instanceof Socket ? stdin.bytesWritten : 0) + (stdout instanceof Socket ? stdout.bytesRead : 0);
  let before = -1;
  const timer = setInterval(() => {
    const now = passed();
    if (now === before) call();
    before = now;
  }, quietSecondsMax * 1000);
  return () => clearInterval(timer);
}

const settingsOf = ({ hiddenRefs, keepsWhatCame, packBytesMax, hooks }: Conversation): Settings => ({
  'core.hooksPath': hooks ? hooksFolder : '/dev/null',
  'receive.maxInputSize': String(packBytesMax),
  'receive.keepAlive': '5',
  /** A pack is kept as it came; unpacked, it would lose what the repository has already. */
  ...(keepsWhatCame && { 'receive.unpackLimit': '1' }),
  ...(hiddenRefs.length > 0 && { 'transfer.hideRefs': hiddenRefs }),
});

const linesMax = 3000;
const lineCharactersMax = 20_000;

/** A hook tells what it is about, line by line up to `end`, and then copies the lines it is told until `+` or `-`, which says how it ends. */
function answerHooks(repository: Repository, socket: Duplex, hooks: PushHooks, gone: AbortSignal) {
  let begun = false;
  const say = (text: string) => new Promise<void>((resolve) => socket.write(text, () => resolve()));
  socket.on('error', () => {});

  const answer = async (told: readonly string[]) => {
    const { name, updates, options, quarantine } = parseTold(told);
    if (name === 'post-receive') {
      for await (const line of hooks.after(updates)) {
        if (gone.aborted) break;
        await say(`=${oneLine(line)}\n`);
      }
      return say('+\n');
    }
    await refuseLargePush(repository, quarantine, updates);
    const lines = await hooks.before(updates, options, pushedTo(repository, quarantine, updates));
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

const pushedTo = (repository: Repository, quarantine: string | undefined, updates: readonly RefUpdate[]): Pushed => ({
  async isOwnOr(shown) {
    const tips = updates.map(({ to }) => to).filter((to) => to !== undefined);
    if (tips.length === 0) return true;
    return quarantine !== undefined && isOwnOrShown(repository, quarantine, tips, shown);
  },
});

const sentenceOf = (error: unknown) => {
  if (error instanceof Problem) return error.message;
  return 'Something went wrong on our side; push again, and tell the operator if it happens again.';
};

/** The line ends up in a terminal, so it must hold no line breaks, and nothing that moves the cursor. */
// oxlint-disable-next-line no-control-regex -- control characters are what is left out
const oneLine = (text: string) => text.replaceAll(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, ' ');

const nothing = /^0+$/;

function parseTold([name = '', ...lines]: readonly string[]) {
  const updates: RefUpdate[] = [];
  const options: string[] = [];
  let quarantine: string | undefined;
  for (const line of lines) {
    const [kind = '', ...fields] = line.split(' ');
    if (kind === 'option') options.push(fromHex(fields[0]));
    if (kind === 'quarantine') quarantine = fromHex(fields[0]);
    if (kind !== 'ref') continue;
    const [from = '', to = '', isFastForward = '', ref] = fields;
    updates.push({
      ref: fromHex(ref),
      from: nothing.test(from) ? undefined : from,
      to: nothing.test(to) ? undefined : to,
      isFastForward: isFastForward === '1',
    });
  }
  return { name, updates, options, quarantine };
}

const fromHex = (text = '') => Buffer.from(text, 'hex').toString('utf8');
