/**
 * Reads objects through `git cat-file`, kept open for each repository that is being read: a few of them, closed when idle, replaced when one dies.
 * What an object is and how large is asked first, so that nothing larger than wanted is ever read.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { Problem } from '../../kernel/problem.ts';
import { environmentOf, limitedGit } from './command.ts';

export interface GitObject {
  type: string;
  size: number;
  /** Undefined: larger than asked for. */
  content: Buffer | undefined;
}

const readersMax = 16;
const idleSeconds = 30;
const answerSecondsMax = 10;
const waitingMax = 200;
const lineBytesMax = 1024;

const isObjectId = (text: string) => /^[0-9a-f]{40}$/.test(text);

class ReaderDied extends Error {}

/** One process; questions wait for each other. */
class Reader {
  lastUsed = Date.now();
  waiting = 0;
  isDead = false;
  private readonly child: ChildProcessWithoutNullStreams;
  private received: Buffer[] = [];
  private bytes = 0;
  private wake: (() => void) | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(gitDir: string) {
    this.child = spawn(...limitedGit([`--git-dir=${gitDir}`, 'cat-file', '--batch-command']), {
      cwd: '/',
      env: environmentOf(),
      stdio: 'pipe',
    });
    this.child.stdout.on('data', (chunk: Buffer) => {
      this.received.push(chunk);
      this.bytes += chunk.length;
      this.wake?.();
    });
    this.child.stderr.resume();
    this.child.stdin.on('error', () => {});
    for (const event of ['error', 'close'] as const) {
      this.child.on(event, () => {
        this.isDead = true;
        this.wake?.();
      });
    }
  }

  read(sha: string, bytesMax: number): Promise<GitObject | undefined> {
    this.waiting += 1;
    const answer = this.turn.then(() => this.ask(sha, bytesMax));
    this.turn = answer.catch(() => this.kill());
    return answer.finally(() => {
      this.waiting -= 1;
      this.lastUsed = Date.now();
    });
  }

  kill() {
    this.isDead = true;
    this.child.kill('SIGKILL');
  }

  private async ask(sha: string, bytesMax: number): Promise<GitObject | undefined> {
    const late = setTimeout(() => this.kill(), answerSecondsMax * 1000);
    try {
      const [, type = '', length = ''] = (await this.question(`info ${sha}`)).split(' ');
      if (type === 'missing') return undefined;
      const size = Number(length);
      if (size > bytesMax) return { type, size, content: undefined };
      await this.question(`contents ${sha}`);
      const content = await this.take(size);
      await this.take(1);
      return { type, size, content };
    } finally {
      clearTimeout(late);
    }
  }

  private async question(text: string): Promise<string> {
    if (this.isDead) throw new ReaderDied();
    this.child.stdin.write(`${text}\n`);
    for (;;) {
      const all = this.gather();
      const end = all.indexOf('\n');
      if (end >= 0) return (await this.take(end + 1)).subarray(0, end).toString('latin1');
      if (all.length > lineBytesMax) throw new ReaderDied('The answer is no line');
      await this.more();
    }
  }

  private async take(size: number): Promise<Buffer> {
    while (this.bytes < size) await this.more();
    const all = this.gather();
    this.received = [all.subarray(size)];
    this.bytes -= size;
    return all.subarray(0, size);
  }

  private gather(): Buffer {
    const all = this.received.length === 1 ? this.received[0] : undefined;
    const whole = all ?? Buffer.concat(this.received);
    this.received = [whole];
    return whole;
  }

  private async more() {
    if (this.isDead) throw new ReaderDied();
    await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = undefined;
  }
}

export function openObjects(pathOf: (projectId: string) => string) {
  const readers = new Map<string, Reader>();
  const timer = setInterval(
    () => {
      for (const [id, reader] of readers) if (isIdle(reader) && Date.now() - reader.lastUsed > idleSeconds * 1000) drop(id);
    },
    (idleSeconds * 1000) / 2,
  );
  timer.unref();

  const drop = (id: string) => {
    readers.get(id)?.kill();
    readers.delete(id);
  };

  /** Where there are too many readers, the one that was unused for longest makes room; where all are busy, there is one more for the time being. */
  const readerFor = (id: string): Reader => {
    const known = readers.get(id);
    if (known && !known.isDead) return known;
    if (known) drop(id);
    const idle = [...readers].filter(([, reader]) => isIdle(reader)).toSorted(([, a], [, b]) => a.lastUsed - b.lastUsed);
    for (const [oldest] of idle.slice(0, Math.max(0, readers.size + 1 - readersMax))) drop(oldest);
    const reader = new Reader(pathOf(id));
    readers.set(id, reader);
    return reader;
  };

  const ask = async (projectId: string, sha: string, bytesMax: number) => {
    const reader = readerFor(projectId);
    if (reader.waiting >= waitingMax) throw busy('too many are waiting');
    return reader.read(sha, bytesMax);
  };

  return {
    async read(projectId: string, sha: string, bytesMax: number): Promise<GitObject | undefined> {
      if (!isObjectId(sha)) return undefined;
      try {
        return await ask(projectId, sha, bytesMax);
      } catch (error) {
        if (!(error instanceof ReaderDied)) throw error;
        return await ask(projectId, sha, bytesMax).catch((again: unknown) => {
          throw again instanceof ReaderDied ? busy('its reader died twice') : again;
        });
      }
    },
    forget: drop,
    close() {
      clearInterval(timer);
      for (const id of readers.keys()) drop(id);
    },
  };
}

export type Objects = ReturnType<typeof openObjects>;

const busy = (internal: string) =>
  new Problem('unavailable', 'The repository cannot be read just now; try again in a moment.', { internal });

const isIdle = ({ waiting }: Reader) => waiting === 0;
