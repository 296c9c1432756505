/** Commands inside containers: the platform's own, whose words are only read when they fail, and those of people, whose words are shown as they come. */
import type { Readable } from 'node:stream';
import type { ServiceCommand } from '../../../catalogue/service.ts';
import type { Execution, Runtime } from '../../../drivers/runtime/runtime.ts';

const keptCharactersMax = 4000;
/** How long a command may take to end once it is asked to. */
const endSecondsMax = 10;

interface Bounds {
  secondsMax: number;
  signal?: AbortSignal | undefined;
  env?: Readonly<Record<string, string>>;
}

/** Runs a command to its end. `said`: the end of what the command printed. */
export async function runInside(
  runtime: Runtime,
  container: string,
  { argv, stdin }: ServiceCommand,
  bounds: Bounds,
): Promise<{ code: number; said: string }> {
  const execution = await runtime.exec(container, { argv, ...(bounds.env && { env: bounds.env }) });
  let said = '';
  for (const stream of [execution.stdout, execution.stderr])
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-keptCharactersMax)));
  execution.stdin.end(stdin ?? '');
  return { code: await ended(execution, bounds), said: said.trim() };
}

/** Runs a command to its end. `follow` is given both of its streams, and ends when they do. */
export async function followInside(
  runtime: Runtime,
  container: string,
  argv: readonly [string, ...string[]],
  follow: (stdout: Readable, stderr: Readable) => Promise<void>,
  bounds: Bounds,
): Promise<number> {
  const execution = await runtime.exec(container, { argv });
  execution.stdin.end();
  const following = follow(execution.stdout, execution.stderr);
  try {
    return await ended(execution, bounds);
  } finally {
    await following;
  }
}

/** The exit code of the command. If the signal is aborted, its reason is thrown once the command has ended. */
async function ended(execution: Execution, { secondsMax, signal }: Bounds): Promise<number> {
  let last: NodeJS.Timeout | undefined;
  const end = () => {
    void execution.signal('SIGTERM').catch(() => {});
    last = setTimeout(() => void execution.signal('SIGKILL').catch(() => {}), endSecondsMax * 1000);
  };
  const late = setTimeout(end, secondsMax * 1000);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  try {
    const code = await execution.exited;
    signal?.throwIfAborted();
    return code;
  } finally {
    clearTimeout(late);
    clearTimeout(last);
    signal?.removeEventListener('abort', end);
  }
}
