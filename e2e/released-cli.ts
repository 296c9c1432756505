/** The released command-line client, with a home folder of its own and pointed at a platform. `./offshoot test` brings it. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientConfiguration } from '../cli/client-configuration.ts';
import { eventually } from './eventually.ts';
import { plainEnvironment } from './installation.ts';
import { freeze, isAlive, signal } from './processes.ts';
import { type Ended, runProgram } from './program.ts';
import { trustedFile } from './trust.ts';
import { cliProgram, type CliProgram } from './released-cli-program.ts';

const commandSecondsMax = 100;
const endSecondsMax = 60;
const sshPortUsual = 2222;

export interface ReleasedCli extends AsyncDisposable {
  /** A folder that is its home, for the length of the test. */
  readonly home: string;
  /** Without an API token it uses what it was told by signing in. */
  run(args: string[], apiToken?: string, folder?: string, input?: string): Promise<Ended>;
  /** A command that waits for a person, or leaves something running; it ends with the test. */
  converse(args: string[], apiToken?: string): Conversation;
}

export interface Conversation {
  readonly said: string;
  until(said: RegExp): Promise<string>;
  /** Answers the exit code. */
  untilEnded(): Promise<number | null>;
}

/**
 * With a port for SSH, it finds the platform's Git server there, whatever the names of hosts resolve to; with a proxy, it finds the API so
 * (every-name-here.ts).
 */
export async function openReleasedCli(
  url: string,
  sshPort?: number,
  kind: 'fast' | 'whole' = 'fast',
  proxyUrl?: string,
): Promise<ReleasedCli> {
  const program = await cliProgram(kind);
  const home = await mkdtemp(join(tmpdir(), 'offshoot-e2e-home-'));
  const configFile = join(home, 'config.yaml');
  await writeFile(configFile, JSON.stringify(clientConfiguration({ url, domain: 'offshoot.localhost', sshPort: sshPort ?? sshPortUsual })));
  const { PATH = '' } = plainEnvironment();
  const sshOptions = [`Port ${sshPort}`, 'HostName 127.0.0.1', 'StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null'].join('\n');
  const env = {
    ...program.env,
    ...(sshPort !== undefined && { UPSUN_CLI_SSH_OPTIONS: sshOptions }),
    ...(proxyUrl !== undefined && { https_proxy: proxyUrl }),
    PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    SSL_CERT_FILE: trustedFile(),
    CLI_CONFIG_FILE: configFile,
    UPSUN_CLI_DISABLE_CACHE: '1',
  };
  const started: number[] = [];
  return {
    home,
    run: (args, apiToken, folder, input) =>
      runProgram(program.file, [...program.args, ...args], {
        ...(folder !== undefined && { folder }),
        ...(input !== undefined && { input }),
        env: { ...env, UPSUN_CLI_NO_INTERACTION: '1', ...(apiToken !== undefined && { UPSUN_CLI_TOKEN: apiToken }) },
        secondsMax: commandSecondsMax,
      }),
    converse: (args, apiToken) => {
      const token = { ...(apiToken !== undefined && { UPSUN_CLI_TOKEN: apiToken }) };
      const { pid, conversation } = converse(program, args, { ...env, ...token, SHELL_INTERACTIVE: '1' });
      started.push(pid);
      return conversation;
    },
    [Symbol.asyncDispose]: async () => {
      const left = started.flatMap(freeze);
      for (const pid of left) signal(pid, 'SIGKILL');
      await eventually('the client is gone', () => !left.some(isAlive), endSecondsMax);
      await rm(home, { recursive: true, force: true });
    },
  };
}

function converse(program: CliProgram, args: string[], env: Record<string, string>): { pid: number; conversation: Conversation } {
  const child = spawn(program.file, [...program.args, ...args], { cwd: tmpdir(), env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let ended = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.once('close', () => (ended = true));
  const report = () => `The client said:\n${said}`;
  return {
    pid: child.pid ?? 0,
    conversation: {
      get said() {
        return said;
      },
      async until(pattern) {
        await eventually(`the client says ${pattern}`, () => pattern.test(said) || ended, commandSecondsMax, report);
        const [found] = pattern.exec(said) ?? [];
        if (found === undefined) throw new Error(`The client ended without saying ${pattern}. ${report()}`);
        return found;
      },
      async untilEnded() {
        await eventually('the client ends', () => ended, commandSecondsMax, report);
        return child.exitCode;
      },
    },
  };
}
