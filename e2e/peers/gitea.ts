/** A real Gitea on this machine, with a database of its own and nobody on it but who is made here. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../edge/testing/ports.ts';
import { openEmbeddedPostgres } from '../../server/drivers/postgres/embedded.ts';
import { eventually } from '../eventually.ts';
import { builtProgram, go } from './built-program.ts';

const run = promisify(execFile);

/** The newest that builds from the proxy as it is; later ones want their pages built first. */
const version = 'v1.26.0';
const startSecondsMax = 120;

/** Its program beside its templates, which it reads as it runs. The pages themselves are not built: only its API and its Git are used. */
const program = () =>
  builtProgram(`gitea-${version}`, async (scratch) => {
    const { Dir: source } = JSON.parse(await go(tmpdir(), 'mod', 'download', '-json', `code.gitea.io/gitea@${version}`)) as { Dir: string };
    await cp(source, scratch, { recursive: true });
    // Modules are kept read-only, and so are copies of them.
    await run('chmod', ['-R', 'u+w', scratch]);
    await go(scratch, 'build', '-o', 'gitea', '.');
  });

export interface Gitea extends AsyncDisposable {
  url: string;
  /** Makes somebody; answers their token. */
  person(name: string): Promise<string>;
  /** Asks the API on behalf of whose token it is. Throws where it is refused. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  api(token: string, method: string, path: string, body?: object): Promise<any>;
}

export async function openGitea(): Promise<Gitea> {
  const built = await program();
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-gitea-'));
  const postgres = await openEmbeddedPostgres(join(folder, 'postgres'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = join(folder, 'app.ini');
  await writeFile(settings, settingsFile(folder, built, port, new URL(postgres.url)));
  const [gitea, env] = [join(built, 'gitea'), { PATH: process.env['PATH'], HOME: folder, GITEA_WORK_DIR: folder }];
  const administer = async (...words: string[]) => (await run(gitea, ['--config', settings, 'admin', ...words], { env })).stdout.trim();
  const child = spawn(gitea, ['--config', settings, 'web'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => void (said = (said + text.toString()).slice(-20_000)));
  await eventually(
    'Gitea answers',
    () =>
      fetch(`${url}/api/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    startSecondsMax,
    () => said,
  );

  return {
    url,
    person: async (name) => {
      const password = ['--password', 'Password of a test 1', '--must-change-password=false'];
      await administer('user', 'create', '--username', name, '--email', `${name}@example.org`, ...password);
      const printed = await administer(
        'user',
        'generate-access-token',
        '--username',
        name,
        '--token-name',
        'test',
        '--scopes',
        'all',
        '--raw',
      );
      // Before it, Gitea warns of being run by root.
      return printed.split('\n').at(-1) ?? '';
    },
    api: async (token, method, path, body) => {
      const headers = { authorization: `token ${token}`, 'content-type': 'application/json' };
      const reply = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${method} ${path} was answered ${reply.status}: ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await postgres.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** The platform is on the same machine, so it may be called there. */
const settingsFile = (folder: string, built: string, port: number, database: URL) => `
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
STATIC_ROOT_PATH = ${built}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = postgres
HOST = ${database.searchParams.get('host') ?? ''}
NAME = ${database.pathname.slice(1)}
USER = ${decodeURIComponent(database.username)}
SSL_MODE = disable
[security]
INSTALL_LOCK = true
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = Warn
`;
