import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { createInstallation } from './installation.ts';
import { openReleasedCli } from './released-cli.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 600_000;

test(
  'the released CLI makes a project, clones it, pushes to it, branches, merges, sets variables, and reads all of it',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const { apiToken } = await (await installation.start()).credentials();
    const { url, sshPort } = installation;
    const token = await accessToken(url, apiToken);
    await send(url, token, 'POST', '/organizations', { label: 'Acme', name: 'acme' });
    await using cli = await openReleasedCli(url, sshPort);
    const run = async (...args: string[]) => {
      const ended = await cli.run(args, apiToken, cli.home);
      expect({ args, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };

    const created = await run(
      'project:create',
      '--org',
      'acme',
      '--title',
      'Shop',
      '--region',
      'offshoot',
      '--default-branch',
      'main',
      '--yes',
    );
    const project = created.stdout.trim();
    expect(project).toMatch(/^[a-z2-7]{13}$/);
    expect((await run('project:list', '--format', 'plain', '--no-header', '--columns', 'id,title')).stdout).toBe(`${project}\tShop\n`);

    const [contract, told] = await Promise.all([
      run('subscription:info', '-p', project, 'environments'),
      run('project:info', '-p', project, 'subscription.environments'),
    ]);
    expect([contract.stdout, told.stdout]).toEqual(['3\n', '3\n']);

    const clone = join(cli.home, 'shop');
    const inClone = async (...args: string[]) => {
      const ended = await cli.run(args, apiToken, clone);
      expect({ args, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', clone, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], { encoding: 'utf8' }).trim();
    const commit = async (file: string, text: string) => {
      await writeFile(join(clone, file), text);
      git('add', '--', file);
      git('commit', '--quiet', '-m', `Write ${file}`);
      return git('rev-parse', 'HEAD');
    };

    await run('get', project, 'shop');
    expect(git('remote', 'get-url', 'offshoot')).toBe(`${project}@git.offshoot.localhost:${project}.git`);
    git('checkout', '--quiet', '-B', 'main');
    const first = await commit('index.html', 'hello\n');
    const pushed = await inClone('push', '--yes', '-e', 'main');
    expect(pushed.stderr).toMatch(/remote: Processing activity [a-z2-7]{13}: admin pushed to Main/);
    expect(pushed.stderr).toContain('Found 1 new commit');

    const branched = await inClone('environment:branch', 'feature/login', 'main', '--yes');
    expect(branched.stderr).toContain('The activity succeeded');
    const listed = await run('environment:list', '-p', project, '--format', 'plain', '--columns', 'id,status,type');
    expect(listed.stdout).toMatch(/main\tActive\tproduction\n\s*feature\/login\tActive\tdevelopment/);

    const second = await commit('login.html', 'log in\n');
    await inClone('push', '--yes', '-e', 'feature/login');
    expect((await inClone('environment:merge', 'feature/login', '--yes')).stderr).toContain('merged feature/login into Main');
    const environment = (await send(url, token, 'GET', `/projects/${project}/environments/main`)).json;
    expect(environment.head_commit).toBe(second);
    const [{ href: main }] = environment._links['pf:routes'];
    expect((await visit(new URL('login.html', main).href)).text).toBe('log in\n');

    const activities = await run(
      'activity:list',
      '--limit',
      '200',
      '-p',
      project,
      '-e',
      'main',
      '--format',
      'plain',
      '--columns',
      'description,state,result',
    );
    expect(activities.stdout).toMatch(/admin merged feature\/login into Main\tcomplete\tsuccess/);
    expect((await run('activity:log', '-p', project, '-e', 'main', '--type', 'environment.push')).stdout).toContain('Found 1 new commit');

    expect((await run('project:clear-build-cache', '-p', project)).stderr).toContain('cleared');
    await run('project:curl', '-p', project, '-X', 'PATCH', '-d', '{"description": "Sells things"}');
    expect((await send(url, token, 'GET', `/projects/${project}`)).json.description).toBe('Sells things');
    await run(
      'variable:create',
      '-p',
      project,
      '--level',
      'project',
      '--name',
      'env:GREETING',
      '--value',
      'hello',
      '--visible-build',
      'true',
      '--yes',
    );
    await run(
      'variable:create',
      '-p',
      project,
      '-e',
      'main',
      '--level',
      'environment',
      '--name',
      'env:SECRET',
      '--value',
      'canary',
      '--sensitive',
      'true',
      '--inheritable',
      'true',
      '--yes',
    );
    const variables = await run(
      'variable:list',
      '-p',
      project,
      '-e',
      'feature/login',
      '--format',
      'plain',
      '--columns',
      'name,level,value',
    );
    expect(variables.stdout).toContain('env:GREETING\tproject\thello');
    expect(variables.stdout).toMatch(/env:SECRET\tenvironment/);
    expect(variables.stdout).not.toContain('canary');

    expect((await run('commit:get', '-p', project, '-e', 'main', '-P', 'parents')).stdout).toContain(first);
    expect((await run('repo:cat', '-p', project, '-e', 'main', 'login.html')).stdout).toBe('log in\n');
  },
);
