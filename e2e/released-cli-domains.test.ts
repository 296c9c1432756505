import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testCertificate } from '../server/drivers/certificates/x509/test-certificates.ts';
import { createInstallation, plainHttp } from './installation.ts';
import { firstPerson, openProject, successful } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 300_000;

/** Tells since when it runs. */
const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js } }
routes:
  https://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': `require('node:http').createServer((_, reply) => reply.end(String(performance.timeOrigin))).listen(process.env.PORT);`,
};

test(
  'the released CLI adds, lists, shows, updates and deletes domains and certificates while the app keeps running, and says why it may not',
  { timeout: flowMilliseconds },
  async () => {
    // Its names are nobody's, so no authority signs for them.
    await using installation = await createInstallation(plainHttp);
    const person = await firstPerson(installation.url, await installation.start());
    await using cli = await openReleasedCli(installation.url);
    const shop = await openProject(person);
    await shop.write(files, 'First');
    await shop.push('main');
    successful(await shop.lastActivity('main'));
    const attempt = (command: string, ...args: string[]) => cli.run([command, '-p', shop.project, ...args], person.apiToken);
    const run = async (command: string, ...args: string[]) => {
      const ended = await attempt(command, ...args);
      expect({ command, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };
    const generated = await shop.address('main');
    const at = (host: string) => generated.replace(new URL(generated).hostname, host);
    const startedAt = (await visit(generated)).text;

    const added = await run('domain:add', '-e', 'main', 'www.shop.example', '--yes');
    expect(added.stderr).toMatch(/Adding the domain: www\.shop\.example.*The activity succeeded/s);
    expect(await visit(at('www.shop.example'))).toMatchObject({ status: 200, text: startedAt });
    expect((await visit(generated)).status).toBe(404);
    const listed = await run('domain:list', '-e', 'main', '--format', 'plain', '--no-header');
    expect(listed.stdout).toMatch(/^www\.shop\.example\tfalse\t/);

    const authority = await testCertificate('An authority', { isAuthority: true });
    const { pem, keyPem } = await testCertificate('Shop', { by: authority, names: ['*.shop.example'] });
    const [cert, key, chain] = ['cert', 'key', 'chain'].map((name) => join(cli.home, `${name}.pem`)) as [string, string, string];
    await Promise.all([writeFile(cert, pem), writeFile(key, keyPem), writeFile(chain, authority.pem)]);
    await run('domain:update', '-e', 'main', 'www.shop.example', '--cert', cert, '--key', key, '--chain', chain, '--yes');
    const got = await run('domain:get', '-e', 'main', 'www.shop.example', '--format', 'plain', '--no-header');
    expect(got.stdout).toMatch(/name\twww\.shop\.example/);
    expect(got.stdout).toMatch(/has_certificate: true/);

    const another = await testCertificate('Another', { by: authority, names: ['another.shop.example'] });
    await Promise.all([writeFile(cert, another.pem), writeFile(key, another.keyPem)]);
    await run('certificate:add', '--cert', cert, '--key', key, '--chain', chain, '--yes');
    const certificates = await run('certificate:list', '--format', 'plain', '--no-header');
    const id = /^(\w+)\tanother\.shop\.example\t.*An authority/m.exec(certificates.stdout)?.[1] ?? '';
    expect((await run('certificate:get', id, '-P', 'domains')).stdout).toContain('another.shop.example');
    await run('certificate:delete', id, '--yes');
    expect((await run('certificate:list', '--format', 'plain', '--no-header')).stdout).not.toContain(id);

    await run('environment:branch', 'preview', 'main', '--no-checkout', '--yes');
    const attach = (name: string, to: string) => attempt('domain:add', '-e', 'preview', name, '--attach', to, '--yes');
    expect(await attach('stage.shop.example', 'other.example')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was not found: other.example'),
    });
    expect(await attach('stage.shop.example', 'www.shop.example')).toMatchObject({ code: 0 });
    expect((await visit(at('stage.shop.example'))).status).toBe(200);
    expect(await attach('more.shop.example', 'www.shop.example')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/already has a domain with the same --attach value: stage\.shop\.example/s),
    });
    expect(await attempt('domain:add', '-e', 'main', 'co.uk', '--yes')).toMatchObject({
      stderr: expect.stringContaining('public suffix'),
    });

    await run('domain:delete', '-e', 'main', 'www.shop.example', '--yes');
    expect(await visit(generated)).toMatchObject({ status: 200, text: startedAt });
    expect((await visit(at('www.shop.example'))).status).toBe(404);
    expect((await visit(at('stage.shop.example'))).status).toBe(404);
  },
);
