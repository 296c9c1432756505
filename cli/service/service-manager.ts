/** systemd, as far as a service of ours needs it. */
import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface ServiceManager {
  /** Whether systemd runs this machine. */
  isThere(): boolean;
  /** Reads unit files that have changed. */
  reload(): Promise<void>;
  /** Has the unit started from the next boot on. */
  enable(unit: string): Promise<void>;
  disable(unit: string): Promise<void>;
  /** Resolves when the unit says that it is ready; throws its last words where it does not come to that. */
  start(unit: string): Promise<void>;
  /** Resolves when the unit has ended. A unit that does not exist counts as stopped. */
  stop(unit: string): Promise<void>;
  /** Changes with each start; undefined while it does not run. */
  runningAs(unit: string): Promise<string | undefined>;
  /** When it became ready last, in milliseconds since 1970; 0: not since the machine was booted. */
  readySince(unit: string): Promise<number>;
}

/** More than any unit of ours may take. */
const secondsMax = 1200;
const linesShown = 25;
const run = promisify(execFile);

export const systemd: ServiceManager = {
  isThere: () => existsSync('/run/systemd/system'),
  reload: () => systemctl('daemon-reload'),
  enable: (unit) => systemctl('enable', '--quiet', unit),
  disable: async (unit) => {
    if (await isLoaded(unit)) await systemctl('disable', '--quiet', unit);
  },
  start: async (unit) => {
    // A unit that failed too often is started all the same, as somebody asks for it.
    await systemctl('reset-failed', unit).catch(() => {});
    const since = Date.now();
    await systemctl('start', unit).catch(async (cause: unknown) => {
      throw new Error(`${unit} does not start. Its last words (journalctl --unit ${unit}):\n${await lastWords(unit, since)}`, { cause });
    });
  },
  stop: async (unit) => {
    if (await isLoaded(unit)) await systemctl('stop', unit);
  },
  runningAs: async (unit) => {
    const { ActiveState, InvocationID } = await propertiesOf(unit);
    return ActiveState === 'active' ? InvocationID : undefined;
  },
  readySince: async (unit) => Number((await propertiesOf(unit, '--timestamp=unix'))['ActiveEnterTimestamp']?.replace('@', '') || 0) * 1000,
};

async function systemctl(...args: string[]): Promise<void> {
  try {
    await run('systemctl', args, { timeout: secondsMax * 1000 });
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new Error(`systemctl ${args.join(' ')} failed: ${said}`, { cause });
  }
}

async function propertiesOf(unit: string, ...options: string[]): Promise<Record<string, string>> {
  const names = 'LoadState,ActiveState,InvocationID,ActiveEnterTimestamp';
  const { stdout } = await run('systemctl', ['show', ...options, `--property=${names}`, unit]);
  return Object.fromEntries(stdout.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

const isLoaded = async (unit: string) => (await propertiesOf(unit))['LoadState'] !== 'not-found';

async function lastWords(unit: string, since: number): Promise<string> {
  const args = ['--unit', unit, `--since=@${Math.floor(since / 1000)}`, '--lines', String(linesShown), '--no-pager', '--output', 'cat'];
  return run('journalctl', args).then(
    ({ stdout }) => stdout.trimEnd(),
    () => '(the journal cannot be read)',
  );
}
