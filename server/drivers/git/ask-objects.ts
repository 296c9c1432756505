/**
 * Many questions about objects, asked of one `git cat-file` at a time: a list of them, then all answers. For one object now and then, and a process that
 * is kept open, there is objects.ts.
 */
import { spawn } from 'node:child_process';
import { environmentOf, limitedGit, TooMuchOutput, type Call } from './command.ts';

export type Where = Pick<Call, 'env' | 'signal' | 'parties'>;

export interface Answer {
  id: string;
  /** `missing` where there is no such object. */
  type: string;
  size: number;
}

export interface ObjectQuestions {
  info(names: readonly string[]): Promise<Answer[]>;
  /** Throws TooMuchOutput where they are larger than `bytesMax` together. */
  contents(names: readonly string[], bytesMax: number): Promise<(Answer & { content: Buffer })[]>;
}

const secondsMax = 120;

/** The process ends with the work. */
export async function askObjects<T>(gitDir: string, { env, signal }: Where, work: (questions: ObjectQuestions) => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const child = spawn(...limitedGit([`--git-dir=${gitDir}`, 'cat-file', '--batch-command', '--buffer']), {
    cwd: '/',
    env: { ...environmentOf(), ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
    killSignal: 'SIGKILL',
    timeout: secondsMax * 1000,
    ...(signal && { signal }),
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  const answers = readerOf(child.stdout);
  const ask = (question: string, names: readonly string[]) =>
    child.stdin.write(`${names.map((name) => `${question} ${name}\n`).join('')}flush\n`);
  try {
    return await work({
      async info(names) {
        ask('info', names);
        const found: Answer[] = [];
        for (const _ of names) found.push(answerIn(await answers.line()));
        return found;
      },
      async contents(names, bytesMax) {
        ask('contents', names);
        const found: (Answer & { content: Buffer })[] = [];
        let bytes = 0;
        for (const _ of names) {
          const answer = answerIn(await answers.line());
          bytes += answer.size;
          if (bytes > bytesMax) throw new TooMuchOutput(`The objects are larger than ${bytesMax} bytes`);
          found.push({ ...answer, content: answer.type === 'missing' ? Buffer.alloc(0) : await answers.bytes(answer.size) });
        }
        return found;
      },
    });
  } finally {
    child.kill('SIGKILL');
  }
}

/** `<id> <type> <size>`, or `<name> missing`. */
function answerIn(line: string): Answer {
  const [id = '', type = '', size = '0'] = line.split(' ');
  return { id, type, size: Number(size) };
}

function readerOf(stream: AsyncIterable<Buffer>) {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async (): Promise<Buffer> => {
    const { value, done } = await chunks.next();
    if (done) throw new Error('git cat-file ended before it had answered');
    return value;
  };
  const take = (bytes: number): Buffer => {
    const taken = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    return taken;
  };
  return {
    async line(): Promise<string> {
      for (let end = rest.indexOf('\n'); ; end = rest.indexOf('\n')) {
        if (end >= 0) return take(end + 1).toString('latin1', 0, end);
        rest = Buffer.concat([rest, await more()]);
      }
    },
    /** With the line's end after them, which is left out. */
    async bytes(size: number): Promise<Buffer> {
      const parts = [rest];
      for (let bytes = rest.length; bytes < size + 1; bytes += parts.at(-1)?.length ?? 0) parts.push(await more());
      rest = parts.length === 1 ? rest : Buffer.concat(parts);
      return take(size + 1).subarray(0, size);
    },
  };
}
