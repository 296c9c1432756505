/** Certificates that come by themselves, from an authority to its visitors: browsers, curl and the released CLI, on an installation with a domain of its own. */
import { sql } from 'kysely';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withPlainDatabase } from '../cli/database.ts';
import { readConfig } from '../server/config.ts';
import { testCertificate } from '../server/drivers/certificates/x509/test-certificates.ts';
import { openBrowser } from './browser.ts';
import { openEveryNameHere, type EveryNameHere } from './every-name-here.ts';
import { createInstallation, plainEnvironment, type Installation } from './installation.ts';
import { firstPerson, openProject, type Person, type Project } from './open-project.ts';
import { runProgram } from './program.ts';
import { openPublicAuthority, type PublicAuthority } from './public-authority.ts';
import { openReleasedCli, type ReleasedCli } from './released-cli.ts';

const openMilliseconds = 240_000;
const flowMilliseconds = 300_000;
const curlSecondsMax = 60;
const soon = { timeout: 60_000, interval: 100 };
/** Whether a time to renew has come is looked at once a minute, unless something else changes. */
const renewalSoon = { ...soon, timeout: 120_000 };

const files = {
  '.upsun/config.yaml': `
applications:
  site: {type: 'static:1', web: {locations: {/: {root: public, index: [index.html]}}}}
routes:
  https://{default}/: {type: upstream, upstream: 'site:http'}
`,
  'public/index.html':
    '<!doctype html><title>Secure</title><link rel="icon" href="data:,"><h1>A page over https</h1><script>document.title += " " + isSecureContext</script>',
};

let installation: Installation;
let authority: PublicAuthority;
let names: EveryNameHere;
let person: Person;
let shop: Project;
let cli: ReleasedCli;

beforeAll(async () => {
  installation = await createInstallation();
  authority = await openPublicAuthority(installation);
  names = await openEveryNameHere();
  person = await firstPerson(installation.url, await installation.start(authority.settings));
  cli = await openReleasedCli(authority.url, undefined, 'fast', names.url);
  shop = await openProject(person);
  await shop.write(files, 'A page');
  await shop.push('main');
  await shop.act('/environments/main/branch', { name: 'preview' });
}, openMilliseconds);
afterAll(async () => {
  for (const each of [cli, names, installation, authority]) await each?.[Symbol.asyncDispose]();
}, openMilliseconds);

const attempt = (command: string, ...args: string[]) => cli.run([command, '-p', shop.project, ...args], person.apiToken);

async function run(command: string, ...args: string[]) {
  const ended = await attempt(command, ...args);
  expect({ command, ...ended }).toMatchObject({ code: 0 });
  return ended;
}

/** As somebody with curl opens a page who trusts the authority and no other; answers the first line of the reply, and the page. */
async function opened(host: string) {
  const { httpsPort } = installation;
  const words = ['--silent', '--show-error', '--http2', '--include', '--cacert', authority.rootFile];
  const found = ['--resolve', `${host}:${httpsPort}:127.0.0.1`, `https://${host}:${httpsPort}/`];
  return runProgram('curl', [...words, ...found], { env: plainEnvironment(), secondsMax: curlSecondsMax });
}

const aPage = { code: 0, stdout: expect.stringMatching(/^HTTP\/2 200[^]*A page over https/) };

/** The serial number of what the host is served with, once a visitor would accept it. */
async function accepted(host: string): Promise<string> {
  await expect.poll(() => authority.shown(host), soon).toMatchObject({ isTrusted: true });
  return (await authority.shown(host)).certificate.serialNumber;
}

const hostOf = async (environment: string) => new URL(await shop.address(environment)).hostname;

test(
  'environments and the platform share one wildcard: a browser opens a preview, and the released CLI the API',
  { timeout: flowMilliseconds },
  async () => {
    const hosts = [await hostOf('main'), await hostOf('preview'), new URL(authority.url).hostname];
    const serials: string[] = [];
    for (const host of hosts) serials.push(await accepted(host));
    expect(new Set(serials).size).toBe(1);
    const { certificate } = await authority.shown(hosts[1] ?? '');
    expect(certificate.subjectAltName?.split(', ').toSorted()).toEqual([`DNS:*.${authority.domain}`, `DNS:${authority.domain}`]);
    expect(await opened(hosts[1] ?? '')).toMatchObject(aPage);

    const address = await shop.address('preview');
    await using browser = await openBrowser(address, names.url);
    await browser.page.goto(address);
    expect(await browser.page.title()).toBe('Secure true');
    expect(browser.mistakes).toEqual([]);

    expect((await run('environment:list', '--format', 'plain', '--columns', 'id', '--no-header')).stdout).toContain('preview');
  },
);

test(
  'a domain that the released CLI adds has its own certificate within seconds, or one that is given, until it is deleted',
  { timeout: flowMilliseconds },
  async () => {
    const host = `www.shop.${authority.zoneOfPeople}`;
    const calledAt = performance.now();
    await run('domain:add', '-e', 'main', host, '--yes');
    const addedAt = performance.now();
    await expect.poll(() => opened(host), soon).toMatchObject(aPage);
    const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1);
    console.log(
      `a new domain was opened with its own certificate ${seconds(calledAt)} s after domain:add began, ${seconds(addedAt)} s after it ended`,
    );
    const { certificate } = await authority.shown(host);
    expect(certificate.subjectAltName).toBe(`DNS:${host}`);
    expect((await run('domain:list', '-e', 'main', '--format', 'plain', '--no-header')).stdout).toContain(host);

    const others = await testCertificate('Another authority', { isAuthority: true });
    const given = await testCertificate('Shop', { by: others, names: [host] });
    const [cert, key, chain] = ['cert', 'key', 'chain'].map((name) => join(cli.home, `${name}.pem`)) as [string, string, string];
    await Promise.all([writeFile(cert, given.pem), writeFile(key, given.keyPem), writeFile(chain, others.pem)]);
    await run('domain:update', '-e', 'main', host, '--cert', cert, '--key', key, '--chain', chain, '--yes');
    await expect.poll(async () => (await authority.shown(host)).certificate.subject, soon).toBe('CN=Shop');
    const got = await run('domain:get', '-e', 'main', host, '--format', 'plain', '--no-header');
    expect(got.stdout).toMatch(/has_certificate: true/);

    const listed = await run('certificate:list', '--format', 'plain', '--no-header');
    const idBy = (issuer: RegExp) => new RegExp(`^(\\w+)\\t.*${issuer.source}`, 'm').exec(listed.stdout)?.[1] ?? listed.stdout;
    const [givenId, automaticId] = [idBy(/Another authority/), idBy(/Pebble/)];
    expect((await run('certificate:get', automaticId, '-P', 'domains')).stdout).toContain(host);
    expect((await attempt('certificate:delete', automaticId, '--yes')).code).not.toBe(0);
    await run('certificate:delete', givenId, '--yes');
    expect(await accepted(host)).toBe(certificate.serialNumber);
    await run('certificate:add', '--cert', cert, '--key', key, '--chain', chain, '--yes');
    await expect.poll(async () => (await authority.shown(host)).certificate.subject, soon).toBe('CN=Shop');

    await run('domain:delete', '-e', 'main', host, '--yes');
    await expect.poll(async () => (await authority.shown(host)).certificate.issuer, soon).toContain('Offshoot');
    expect((await opened(host)).stderr).toContain('SSL certificate problem');
    expect(await opened(await hostOf('main'))).toMatchObject(aPage);
  },
);

/** As if the hours had passed after which the authority is asked again whether anything has changed. */
const askAgainNow = () =>
  withPlainDatabase(readConfig({ OFFSHOOT_DATA: installation.data }), (_, db) =>
    sql`update certificates set ask_again_at = clock_timestamp() where ask_again_at is not null`.execute(db),
  );

const afterSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);

test(
  'a certificate is replaced in the time that the authority names, and at once where it asks for that',
  { timeout: flowMilliseconds },
  async () => {
    const [shared, host] = [await hostOf('preview'), `early.${authority.zoneOfPeople}`];
    await shop.act('/domains', { name: host });
    const [inTime, early] = [await accepted(shared), await accepted(host)];
    const pemOf = async (name: string) => (await authority.shown(name)).certificate.toString();
    await authority.wantReplaced(await pemOf(shared), afterSeconds(4), afterSeconds(5));
    await authority.wantReplaced(await pemOf(host), afterSeconds(-7200), afterSeconds(-3600));
    await askAgainNow();
    await expect.poll(() => accepted(host), soon).not.toBe(early);
    expect(authority.said()).toMatch(/order .* is a replacement of/);
    expect(await opened(host)).toMatchObject(aPage);
    await shop.act(`/domains/${host}`, undefined, 'DELETE');
    await expect.poll(() => accepted(shared), renewalSoon).not.toBe(inTime);
    expect(await accepted(new URL(authority.url).hostname)).toBe(await accepted(shared));
  },
);
