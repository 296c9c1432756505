/** A project that follows a repository at a real Gitea, whose webhooks, statuses and refs are its own. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { createInstallation, plainHttp } from '../installation.ts';
import { firstPerson, openProject, read, type Project } from '../open-project.ts';
import { openGitea, type Gitea } from './gitea.ts';

const run = promisify(execFile);
/** Well below the five minutes after which the host would be looked at without having called. */
const soonSeconds = 120;

const saying = (version: string): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    web: {commands: {start: node server.js}}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.js': `require('node:http').createServer((_, reply) => reply.end('${version}')).listen(process.env.PORT);\n`,
});

test('Gitea has its token checked, calls on its own, and is told what became of a pull request; one from a fork waits; what is closed goes', async () => {
  await using installation = await createInstallation({ ...plainHttp, OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  const project = await openProject(await firstPerson(installation.url, await installation.start()));
  await using gitea = await openGitea();
  const token = await gitea.person('acme');
  await gitea.api(token, 'POST', '/user/repos', { name: 'shop', default_branch: 'main', private: true });
  await using copy = await openCopy(gitea, 'acme/shop', 'acme', token);
  await copy.push('main', saying('one'));

  const body = { type: 'gitea', base_url: gitea.url, repository: 'acme/shop', token };
  await expect(project.api('POST', '/integrations', { ...body, token: '0'.repeat(40) })).rejects.toThrow(/answered 400.*credential/);
  const { id } = (await project.api('POST', '/integrations', body))._embedded.entity;
  await project.api('POST', `/integrations/${id}/validate`, {});
  await answering(project, 'main', 'one');
  const hooks = await gitea.api(token, 'GET', '/repos/acme/shop/hooks');
  expect(hooks).toMatchObject([{ active: true, config: { url: expect.stringContaining(`/integrations/${id}/hook`) } }]);

  await copy.push('main', saying('two'));
  await answering(project, 'main', 'two');
  await project.write({ 'README.md': 'pushed past the host' }, 'Mine');
  await expect(project.push('main', '--force')).rejects.toThrow(/acme\/shop/);

  const commit = await copy.push('feature', saying('three'));
  const { number } = await gitea.api(token, 'POST', '/repos/acme/shop/pulls', { head: 'feature', base: 'main', title: 'Three' });
  const preview = await answering(project, `pr-${number}`, 'three');
  const statuses = async () => {
    const all: { context: string; status: string }[] = await gitea.api(token, 'GET', `/repos/acme/shop/commits/${commit}/statuses`);
    return all.filter(({ context }) => context === `offshoot/pr-${number}`).map(({ status }) => status);
  };
  await eventually('the commit is told to be good', async () => (await statuses())[0] === 'success', soonSeconds);
  const comments = async (of: number): Promise<string> =>
    (await gitea.api(token, 'GET', `/repos/acme/shop/issues/${of}/comments`)).map((comment: { body: string }) => comment.body).join('\n');
  await eventually('the pull request is told where it runs', async () => (await comments(number)).includes(preview), soonSeconds);
  await copy.push('feature', saying('four'));
  await answering(project, `pr-${number}`, 'four');

  const names = async (): Promise<string[]> =>
    (await project.api('GET', '/environments')).map((each: { id: string }) => each.id).toSorted();
  const stranger = await gitea.person('stranger');
  await gitea.api(token, 'PUT', '/repos/acme/shop/collaborators/stranger', { permission: 'read' });
  await gitea.api(stranger, 'POST', '/repos/acme/shop/forks', {});
  await using fork = await openCopy(gitea, 'stranger/shop', 'stranger', stranger);
  const read5 = await fork.push('main', saying('five'));
  const theirs = await gitea.api(stranger, 'POST', '/repos/acme/shop/pulls', { head: 'stranger:main', base: 'main', title: 'Five' });
  await eventually('the fork is told to wait', async () => /approv/i.test(await comments(theirs.number)), soonSeconds);
  expect(await names()).not.toContain(`pr-${theirs.number}`);
  await project.api('POST', `/integrations/${id}/pull-requests/${theirs.number}/approve`, { commit: read5 });
  await answering(project, `pr-${theirs.number}`, 'five');

  for (const closed of [number, theirs.number]) await gitea.api(token, 'PATCH', `/repos/acme/shop/pulls/${closed}`, { state: 'closed' });
  await gitea.api(token, 'DELETE', '/repos/acme/shop/branches/feature');
  await eventually(
    'what is closed and deleted there goes',
    async () => (await names()).join() === 'main',
    soonSeconds,
    () => 'still there',
  );
  await project.api('DELETE', `/integrations/${id}`);
  await eventually('the webhook goes', async () => (await gitea.api(token, 'GET', '/repos/acme/shop/hooks')).length === 0, soonSeconds);
});

/** Where an environment is found that answers so. */
async function answering(project: Project, environment: string, version: string): Promise<string> {
  let [address, said] = ['', ''];
  const look = async () => {
    address = await project.address(environment);
    said = await read(address, '/');
    return said === version;
  };
  const report = () => said;
  await eventually(
    `${environment} answers ${version}`,
    () => look().catch((error: Error) => ((said = error.message), false)),
    soonSeconds,
    report,
  );
  return address;
}

/** A working copy whose pushes go to Gitea. */
async function openCopy({ url }: Gitea, repository: string, user: string, token: string) {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-peers-'));
  const who = {
    GIT_AUTHOR_NAME: user,
    GIT_AUTHOR_EMAIL: `${user}@example.org`,
    GIT_COMMITTER_NAME: user,
    GIT_COMMITTER_EMAIL: `${user}@example.org`,
  };
  const git = async (...words: string[]) => (await run('git', ['-C', folder, ...words], { env: { ...process.env, ...who } })).stdout.trim();
  await git('init', '--quiet', '--initial-branch=main');
  await git('remote', 'add', 'origin', `${url.replace('//', `//${user}:${token}@`)}/${repository}.git`);
  await git('fetch', '--quiet', 'origin');
  if (await git('branch', '--remotes', '--list', 'origin/main')) await git('reset', '--quiet', '--hard', 'origin/main');
  return {
    /** Commits on top of what is there, on that branch; answers the commit. */
    push: async (branch: string, files: Record<string, string>): Promise<string> => {
      await git('checkout', '--quiet', '-B', branch);
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), text);
      }
      await git('add', '--all');
      await git('commit', '--quiet', '-m', 'Change');
      await git('push', '--quiet', 'origin', branch);
      return git('rev-parse', 'HEAD');
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
