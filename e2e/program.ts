/** A program run to its end, within a bound. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';

const lookMilliseconds = 5;

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface ProgramOptions {
  env: Record<string, string>;
  secondsMax: number;
  /** `kill -9` ends it in the moment that this is so. */
  killWhen?: () => boolean;
  input?: string | Buffer;
  /** Where it runs; the temporary folder, unless told. */
  folder?: string;
}

export function runProgram(
  program: string,
  args: string[],
  { env, secondsMax, killWhen, input = '', folder = tmpdir() }: ProgramOptions,
): Promise<Ended> {
  return new Promise((settle, fail) => {
    const child = spawn(program, args, { cwd: folder, env, timeout: secondsMax * 1000, killSignal: 'SIGKILL' });
    const said = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
    child.stdin.on('error', () => undefined).end(input);
    const looking = killWhen && setInterval(() => killWhen() && child.kill('SIGKILL'), lookMilliseconds);
    child.once('error', fail);
    child.once('close', (code) => {
      clearInterval(looking);
      settle({ code, ...said });
    });
  });
}
