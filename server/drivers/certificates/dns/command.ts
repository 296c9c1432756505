/**
 * DNS records by a command of the operator's own, for providers with ways of their own: called as `<command> set <name> <value>` and `<command> unset <name>
 * <value>`, without a shell. It ends with 0 once it is done; what it says otherwise is told.
 */
import { execFile } from 'node:child_process';
import { Problem } from '../../../kernel/problem.ts';
import { type DnsRecords, isBelow } from './dns-records.ts';

export interface DnsCommandOptions {
  /** An absolute path. */
  command: string;
  domains: readonly [string, ...string[]];
  /** Variables that the command sees beside PATH. */
  env?: Readonly<Record<string, string>>;
  secondsMax?: number;
}

const usualSecondsMax = 120;
const outputBytesMax = 64 * 1024;
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Excludes everything that a program could take for an option, a path or more than one word. */
const recordName = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)+$/;
const recordValue = /^[A-Za-z0-9_][\x20-\x7e]*$/;

export function openDnsCommand({ command, domains, env = {}, secondsMax = usualSecondsMax }: DnsCommandOptions): DnsRecords {
  const call = async (verb: 'set' | 'unset', name: string, value: string, signal?: AbortSignal) => {
    if (!recordName.test(name) || !recordValue.test(value))
      throw new Problem('invalid-request', `${name}, or the value for it, is not valid for a TXT record.`);
    await new Promise<void>((resolve, reject) => {
      const options = {
        env: { PATH: path, LC_ALL: 'C.UTF-8', ...env },
        cwd: '/',
        timeout: secondsMax * 1000,
        killSignal: 'SIGKILL',
        maxBuffer: outputBytesMax,
        ...(signal && { signal }),
      } as const;
      execFile(command, [verb, name, value], options, (error, stdout, stderr) => {
        if (!error) return resolve();
        reject(signal?.aborted ? (signal.reason as Error) : failure(command, verb, name, error, `${stdout}\n${stderr}`, secondsMax));
      });
    });
  };
  return {
    covers: (name) => domains.some((domain) => isBelow(name, domain)),
    set: (name, value, signal) => call('set', name, value, signal),
    unset: (name, value, signal) => call('unset', name, value, signal),
  };
}

const saidCharactersMax = 300;

type ExecError = Error & { code?: number | string | null; killed?: boolean };

function failure(command: string, verb: string, name: string, error: ExecError, output: string, secondsMax: number): Problem {
  const said = output.trim().split('\n').at(-1)?.slice(0, saidCharactersMax) ?? '';
  const how = error.killed ? `did not end within ${secondsMax} seconds` : `ended with ${error.code ?? 'a signal'}`;
  return new Problem('unavailable', `${command} ${verb} ${name} ${how}${said === '' ? '.' : `: ${said}`}`, { cause: error });
}
