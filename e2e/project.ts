/** A project with a repository, made over the API, and commits to push to it over HTTP. */
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { send } from './api.ts';
import { eventually } from './eventually.ts';
import { plainEnvironment } from './installation.ts';

const readySecondsMax = 20;

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
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-copy-'));
  const environment = { ...plainEnvironment(), GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const git = async (...args: string[]): Promise<string> => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
    const { stdout } = await promisify(execFile)('git', ['-C', folder, ...who, ...args], { env: environment });
    return stdout.trim();
  };
  const remote = new URL(`/git/${project}.git`, url);
  [remote.username, remote.password] = ['x', apiToken];
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('remote', 'add', 'origin', remote.href);
  return {
    folder,
    git,
    commit: async (file: string, text: string) => {
      await writeFile(join(folder, file), text);
      await git('add', '--', file);
      await git('commit', '--quiet', '-m', `Write ${file}`);
      return git('rev-parse', 'HEAD');
    },
  };
}
