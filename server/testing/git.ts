/** Git as people use it: the real client, with a platform that it can reach over HTTP and SSH and a runner at work. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { activitiesOf } from '../kernel/room.ts';
import { startRunner } from '../kernel/runner.ts';
import { rooms } from '../rooms.ts';
import { serveSsh } from '../rooms/ssh/public.ts';
import { openTestPlatform, type Person } from './platform.ts';
import { sampleOrganization, sampleProject } from './samples.ts';

export interface Ended {
  code: number;
  /** Standard output and standard error. */
  said: string;
}

export const run = (command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const identity = {
      GIT_AUTHOR_NAME: 'Ada',
      GIT_AUTHOR_EMAIL: 'ada@example.org',
      GIT_COMMITTER_NAME: 'Ada',
      GIT_COMMITTER_EMAIL: 'ada@example.org',
    };
    const plain = {
      PATH: process.env['PATH'] ?? '',
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      ...identity,
      ...env,
    };
    execFile(command, args, { cwd, env: plain, timeout: 80_000, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 255) : 0, said: `${stdout}${stderr}` }),
    );
  });
export const git = (cwd: string, ...args: string[]) => run('git', args, cwd);
export const good = async (cwd: string, ...args: string[]): Promise<string> => {
  const { code, said } = await git(cwd, ...args);
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${said}`);
  return said.trim();
};

export async function commit(path: string, files: Record<string, string>, message = 'Change') {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  await good(path, 'add', '--all');
  await good(path, 'commit', '--quiet', '-m', message);
}

/** An owner with an empty project, and all that is needed to push to it. */
export async function openSource() {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-source-'));
  const home = await openTestPlatform();
  const runner = startRunner(activitiesOf(rooms), home.platform);
  await home.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = home.http.server.address() as AddressInfo;
  const ssh = await serveSsh(home.platform, { host: '127.0.0.1', sshPort: 0 });
  const owner = await home.person({ strong: true });
  const { organization_id } = await sampleOrganization(owner);
  const { project_id: project } = await sampleProject(owner, organization_id);
  afterAll(async () => {
    await ssh.close();
    await runner.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const urlFor = (secret: string, id = project, user = 'git') =>
    `http://${user}:${encodeURIComponent(secret)}@127.0.0.1:${port}/git/${id}.git`;

  let clones = 0;
  /** A working copy with one commit on main, not pushed yet. */
  async function workingCopy(remote: string, files: Record<string, string> = { 'README.md': 'hello\n' }): Promise<string> {
    clones += 1;
    const path = join(folder, `copy-${clones}`);
    mkdirSync(path);
    await good(path, 'init', '--quiet', '-b', 'main');
    await good(path, 'remote', 'add', 'origin', remote);
    await commit(path, files);
    return path;
  }

  async function colleague(id: string, ...permissions: string[]): Promise<Person> {
    const person = await home.person();
    await owner.send('POST', `/organizations/${organization_id}/members`, { user_id: person.user.id });
    await owner.send('POST', `/projects/${id}/user-access`, [{ user_id: person.user.id, permissions }]);
    return person;
  }

  /** A project of its own with one push to main and one to staging and dev. */
  async function filledProject() {
    const { project_id } = await sampleProject(owner, organization_id);
    const copy = await workingCopy(urlFor(owner.apiToken, project_id));
    await good(copy, 'push', 'origin', 'main');
    await good(copy, 'checkout', '-q', '-b', 'stage');
    await commit(copy, { 'stage.txt': 's' });
    await good(copy, 'push', '-o', 'environment.type=staging', 'origin', 'stage');
    await good(copy, 'checkout', '-q', '-b', 'dev', 'main');
    await commit(copy, { 'dev.txt': 'd' });
    await good(copy, 'push', 'origin', 'dev');
    return { id: project_id, copy };
  }

  const activitiesIn = (id: string) =>
    home.platform.db.selectFrom('activities').selectAll().where('project_id', '=', id).orderBy('created_at').orderBy('position').execute();
  return { folder, home, port, ssh, owner, organization_id, project, urlFor, workingCopy, colleague, filledProject, activitiesIn };
}
