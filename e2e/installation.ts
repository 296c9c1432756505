/**
 * A data folder and ports, on which platforms are started one after the other. Disposing of it ends what runs and removes the folder.
 *
 *     await using installation = await createInstallation();
 *     const platform = await installation.start();
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../edge/testing/ports.ts';
import { readConfig } from '../server/config.ts';
import { eventually } from './eventually.ts';
import { testImagesFolder } from '../server/testing/images.ts';
import { postgresIn, signal } from './processes.ts';
import { type Ended, runProgram } from './program.ts';
import { RunningPlatform } from './running-platform.ts';
import { trustAuthorityOf } from './trust.ts';
import { installationBegins, installationEnds } from './working-folders.ts';

export const repository = resolve(import.meta.dirname, '..');
const command = join(repository, 'offshoot');
const commandSecondsMax = 120;
const postgresEndSecondsMax = 60;

export type Settings = Record<string, string>;

export interface RunOptions {
  settings?: Settings;
  input?: string;
  secondsMax?: number;
  killWhen?: () => boolean;
}

export interface Installation extends AsyncDisposable {
  readonly data: string;
  readonly port: number;
  readonly sshPort: number;
  readonly edgePort: number;
  readonly httpsPort: number;
  /** Where people reach it: over https, unless TLS is off. */
  readonly url: string;
  /** Begins a start, and does not wait for it. */
  launch(settings?: Settings, args?: readonly string[]): RunningPlatform;
  /** Answers when the platform is ready. */
  start(settings?: Settings): Promise<RunningPlatform>;
  /** Stops in order what runs, and starts anew. */
  restart(settings?: Settings): Promise<RunningPlatform>;
  /** `kill -9` of all that was started, at once. */
  kill(): Promise<void>;
  /** Of another version of the program, in a folder of its own; answers when it is ready. */
  startVersion(folder: string): Promise<RunningPlatform>;
  /** Any command of `./offshoot`, to its end; `kill -9` ends it after so many seconds, or in a moment that is waited for. */
  run(args: string[], options?: RunOptions): Promise<Ended>;
}

/** For tests that are not about what goes over the wire: they do without the edge where nothing is deployed, and start sooner. */
export const plainHttp: Settings = { OFFSHOOT_TLS: 'off' };

export async function createInstallation(always: Settings = {}): Promise<Installation> {
  const data = await mkdtemp(join(tmpdir(), 'offshoot-e2e-'));
  installationBegins();
  const [port, sshPort, edgePort, httpsPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const [tracesPort, relayPort] = [await freePort(), await freePort()];
  const env = (settings: Settings) => ({
    ...plainEnvironment(),
    OFFSHOOT_DATA: data,
    OFFSHOOT_PORT: String(port),
    OFFSHOOT_SSH_PORT: String(sshPort),
    OFFSHOOT_HTTP_PORT: String(edgePort),
    OFFSHOOT_HTTPS_PORT: String(httpsPort),
    OFFSHOOT_TRACES_PORT: String(tracesPort),
    OFFSHOOT_RELAY_PORT: String(relayPort),
    OFFSHOOT_IMAGES: testImagesFolder,
    OFFSHOOT_IMAGE_UPDATE_DAYS: '0',
    OFFSHOOT_IMAGES_AHEAD: 'none',
    ...always,
    ...settings,
  });
  const launched: RunningPlatform[] = [];

  const launch = (settings: Settings = {}, args: readonly string[] = [], program = command) => {
    const platform = new RunningPlatform(program, data, env(settings), args, () => trust(env(settings)));
    launched.push(platform);
    return platform;
  };
  const start = (settings?: Settings) => launch(settings).untilReady();
  return {
    data,
    port,
    sshPort,
    edgePort,
    httpsPort,
    url: always['OFFSHOOT_TLS'] === 'off' ? `http://127.0.0.1:${port}` : `https://localhost:${httpsPort}`,
    launch: (settings, args) => launch(settings, args),
    start,
    startVersion: (folder) => launch({}, [], join(folder, 'offshoot')).untilReady(),
    restart: async (settings) => {
      await launched.at(-1)?.stop();
      return start(settings);
    },
    kill: async () => {
      for (const platform of launched) await platform.killAll();
    },
    run: (args, { settings = {}, secondsMax = commandSecondsMax, ...others } = {}) =>
      runProgram(command, args, { env: env(settings), secondsMax, ...others }),
    [Symbol.asyncDispose]: async () => {
      for (const platform of launched) await platform.killAll();
      const isGone = () => postgresIn(data).length === 0;
      try {
        await eventually('PostgreSQL is gone after its platform', isGone, postgresEndSecondsMax);
      } finally {
        for (const pid of postgresIn(data)) signal(pid, 'SIGKILL');
        await eventually('PostgreSQL is gone after a kill', isGone, postgresEndSecondsMax);
        if (leavesBehind.some((name) => existsSync(join(data, name)))) await shutDown(env({}));
        await rm(data, { recursive: true, force: true, maxRetries: 5 });
        await installationEnds();
      }
    },
  };
}

async function trust(env: Settings) {
  const config = readConfig(env);
  if (config.tls) await trustAuthorityOf(config);
}

/** Folders of what outlives the platform: what it started, and the file system that it mounted. */
const leavesBehind = ['edge', 'runtime', 'volumes/pool'];

async function shutDown(env: Record<string, string>) {
  const { code, stdout, stderr } = await runProgram(command, ['shutdown'], { env, secondsMax: commandSecondsMax });
  if (code !== 0) throw new Error(`./offshoot shutdown ended with ${code}:\n${stdout}${stderr}`);
}

/** What a login shell would have: neither this project's settings nor what the test runner adds. */
export function plainEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => keptVariables.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? '']));
}

const keptVariables = new Set(['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR', 'http_proxy', 'https_proxy', 'no_proxy']);
