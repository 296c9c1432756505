import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { createInstallation, plainEnvironment } from './installation.ts';
import { createProject } from './project.ts';
import { openReleasedCli } from './released-cli.ts';
import { trustedFile } from './trust.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 400_000;

/** Says its version, and the greeting that it is told. */
const helloFiles = (version: string): Record<string, string> => ({
  '.upsun/config.yaml': `
applications:
  hello:
    type: nodejs:24
    build: {flavor: none}
    web:
      commands: {start: node server.js}
routes:
  https://{default}/: {type: upstream, upstream: 'hello:http'}
`,
  'server.js': `require('node:http').createServer((request, reply) => reply.end('${version} ' + process.env.GREETING)).listen(process.env.PORT);`,
});

test(
  'the released CLI switches to manual deployments, pushes, sees what is staged, deploys it, and switches back',
  {
    timeout: flowMilliseconds,
  },
  async () => {
    await using installation = await createInstallation();
    const { url, sshPort } = installation;
    const { apiToken } = await (await installation.start()).credentials();
    await using cli = await openReleasedCli(url, sshPort);
    const token = await accessToken(url, apiToken);
    const project = await createProject(url, token);
    const folder = join(cli.home, 'hello');
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
        env: { ...plainEnvironment(), GIT_SSL_CAINFO: trustedFile() },
        stdio: 'pipe',
      });
    const push = () => git('-c', `http.extraHeader=Authorization: Bearer ${token}`, 'push', '--quiet', `${url}/git/${project}.git`, 'main');
    const commit = async (version: string) => {
      for (const [file, text] of Object.entries(helloFiles(version))) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await writeFile(join(folder, file), text);
      }
      git('add', '--all');
      git('commit', '--quiet', '-m', version);
    };
    const run = async (...args: string[]) => {
      const ended = await cli.run(args, apiToken, folder);
      expect({ args, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };
    const at = `/projects/${project}/environments/main`;
    const says = async () => {
      const { json } = await send(url, token, 'GET', at);
      const [address] = json._links['pf:routes'];
      return (await visit(address.href)).text;
    };

    await mkdir(folder);
    git('init', '--quiet', '--initial-branch', 'main');
    git('remote', 'add', 'offshoot', `${project}@git.offshoot.localhost:${project}.git`);
    await commit('one');
    push();
    expect(await says()).toBe('one undefined');

    expect((await run('environment:deploy:type', 'manual', '-e', 'main')).stderr).toContain('updated successfully to: manual');
    await commit('two');
    expect((await run('push', '--yes', '-e', 'main')).stderr).toContain('The changes are staged');
    await send(url, token, 'POST', `${at}/variables`, { name: 'env:GREETING', value: 'hello' });
    expect(await says()).toBe('one undefined');
    const deployed = await run('environment:deploy', '--strategy', 'rolling', '-e', 'main', '--yes');
    expect(deployed.stdout + deployed.stderr).toMatch(/environment\.variable\.create.*environment\.push/s);
    expect(await says()).toBe('two hello');

    await commit('three');
    push();
    expect((await run('environment:deploy:type', 'automatic', '-e', 'main', '--yes')).stderr).toContain('Deploying the staged changes');
    expect(await says()).toBe('three hello');
  },
);
