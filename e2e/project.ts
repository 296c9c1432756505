/** A project with a repository, made over the API, and commits to push to it over HTTP. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { send } from './api.ts';
import { eventually } from './eventually.ts';
import { plainEnvironment } from './installation.ts';
import { trustedFile } from './trust.ts';
import { makeWorkingFolder } from './working-folders.ts';

/** Also on an emulated machine. */
const readySecondsMax = 300;

export async function createProject(url: string, token: string): Promise<string> {
  const organization = (await send(url, token, 'POST', '/organizations', { label: 'Acme' })).json;
  const { json } = await send(url, token, 'POST', `/organizations/${organization.id}/projects`, { region: 'offshoot', title: 'Shop' });
  let status = '';
  const look = async () => (status = (await send(url, token, 'GET', `/organizations/${organization.id}/projects/${json.id}`)).json.status);
  await eventually(
    'the project is active',
    async () => (await look()) === 'active',
    readySecondsMax,
    () => status,
  );
  return json.id;
}

/** A repository of one's own, with a remote that knows the API token. */
export async function openWorkingCopy(url: string, project: string, apiToken: string) {
  const folder = await makeWorkingFolder();
  const environment = {
    ...plainEnvironment(),
    GIT_SSL_CAINFO: trustedFile(),
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  const run = (...args: string[]) => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
    return promisify(execFile)('git', ['-C', folder, ...who, ...args], { env: environment });
  };
  const git = async (...args: string[]): Promise<string> => (await run(...args)).stdout.trim();
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };
  const remote = new URL(`/git/${project}.git`, url);
  [remote.username, remote.password] = ['x', apiToken];
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('remote', 'add', 'origin', remote.href);
  return {
    folder,
    git,
    write,
    /** Answers what the platform said meanwhile. */
    push: async (branch: string, ...options: string[]): Promise<string> =>
      (await run('push', '--quiet', ...options, 'origin', branch)).stderr.replaceAll(/^remote: ?/gm, ''),
    commit: async (file: string, text: string) => {
      await write(file, text);
      await git('add', '--', file);
      await git('commit', '--quiet', '-m', `Write ${file}`);
      return git('rev-parse', 'HEAD');
    },
  };
}
