/** Everything over https, as somebody meets it who has set nothing: Git, curl, a browser, and plain HTTP that leads there; and a proxy in its place. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrowser } from './browser.ts';
import { createInstallation, plainEnvironment, plainHttp } from './installation.ts';
import { firstPerson, openProject, read } from './open-project.ts';
import { runProgram } from './program.ts';
import { visit } from './visit.ts';

const flowMilliseconds = 480_000;
const curlSecondsMax = 60;

const files = {
  '.upsun/config.yaml': `
applications:
  site: {type: 'static:1', web: {locations: {/: {root: public, index: [index.html]}}}}
routes:
  https://{default}/: {type: upstream, upstream: 'site:http', tls: {strict_transport_security: {enabled: true}}}
`,
  'public/index.html':
    '<!doctype html><title>Secure</title><link rel="icon" href="data:,"><h1>A page over https</h1><script>document.title += " " + isSecureContext</script>',
};

test(
  'with nothing set, what is pushed is found over https, and where a proxy ends TLS over http',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const { url, edgePort, httpsPort } = installation;
    const project = await openProject(await firstPerson(url, await installation.start()));
    await project.write(files, 'A page');
    expect(await project.push('main')).toContain('Opening environment');
    const address = await project.address('main');
    const { hostname } = new URL(address);
    expect(address).toBe(`https://${hostname}:${httpsPort}/`);

    const { code, stdout, stderr } = await installation.run(['ca']);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('update-ca-certificates') });
    const authority = join(project.folder, '..', `${project.project}.crt`);
    await writeFile(authority, stdout);
    const curl = (...words: string[]) =>
      runProgram('curl', ['--silent', '--show-error', '--cacert', authority, '--resolve', `${hostname}:${httpsPort}:127.0.0.1`, ...words], {
        env: plainEnvironment(),
        secondsMax: curlSecondsMax,
      });
    expect(await curl('--include', address)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^HTTP\/2 200[^]*max-age=31536000[^]*A page over https/),
    });
    expect(await curl(`${url}/users/me`)).toMatchObject({ code: 0, stdout: expect.stringContaining('"status":401') });

    const plain = await visit(`http://${hostname}:${edgePort}/deep?x=1`);
    expect([plain.status, plain.headers['location']]).toEqual([301, `${address}deep?x=1`]);

    await using browser = await openBrowser(address);
    await browser.page.goto(address);
    expect(await browser.page.title()).toBe('Secure true');
    expect(browser.mistakes).toEqual([]);

    await installation.restart(plainHttp);
    await expect
      .poll(async () => (await visit(`http://${hostname}:${edgePort}/`).catch(() => undefined))?.status, { timeout: 120_000 })
      .toBe(200);
    expect(await read(`http://${hostname}:${edgePort}/`, '/')).toContain('A page over https');
  },
);
