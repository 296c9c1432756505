/** A project whose code is at a code host, which speaks the wire of GitHub with a real repository behind it: from a pull request to its environment with data, and back to the host. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Happening } from '../server/drivers/code-hosts/test-host.ts';
import { openMirroredHost, type MirroredHost } from '../server/rooms/integrations/code-hosts/test-mirrored-host.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp } from './installation.ts';
import { letterTo } from './mail.ts';
import { firstPerson, openProject, read, type Project } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';
import { shopFiles } from './shop.ts';
import { visit } from './visit.ts';

const storyMilliseconds = 400_000;
const soonSeconds = 120;

test(
  'a pull request has an environment with data and is told of it, one from a fork waits for approval, and a failing deployment reaches mail and webhook',
  { timeout: storyMilliseconds },
  async () => {
    await using installation = await createInstallation({ ...plainHttp, OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
    const started = await installation.start();
    const [person, { email }] = [await firstPerson(installation.url, started), await started.credentials()];
    await using cli = await openReleasedCli(installation.url);
    const shop = await openProject(person);
    const host = await openMirroredHost('github');
    await using _host = { [Symbol.asyncDispose]: async () => host.closeHost() };
    await using receiver = await openReceiver();
    host.commit('main', shopFiles('one'));

    const integration = async (...words: string[]) => {
      const { code, stdout, stderr } = await cli.run([...words, '-p', shop.project, '--yes'], person.apiToken);
      expect({ words, code, stderr: code === 0 ? '' : stderr }).toEqual({ words, code: 0, stderr: '' });
      return stdout;
    };
    const { token, repository, base_url } = host.body as unknown as Record<string, string>;
    await integration('integration:add', '--type', 'github', '--token', token!, '--repository', repository!, '--base-url', base_url!);
    await integration('integration:add', '--type', 'webhook', '--url', receiver.url, '--events', 'environment.push');
    expect(await integration('integration:list', '--format', 'plain')).toMatch(/github[^]*webhook/);

    const main = await answering(shop, 'main', 'one');
    expect((await visit(new URL('/?n=1&what=secret', main).href, { method: 'POST' })).text).toBe('sold');
    await shop.write({ 'README.md': 'pushed past the host' }, 'Mine');
    await expect(shop.push('main', '--force')).rejects.toThrow(/acme\/shop/);

    const names = async (): Promise<string[]> => (await shop.api('GET', '/environments')).map(({ id }: { id: string }) => id);
    const happens = (happening: Happening) => tellPlatform(host, happening);
    const commit = host.pullRequest(7, shopFiles('two'));
    await happens({ kind: 'pull-request', number: 7, as: 'opened' });
    const preview = await answering(shop, 'pr-7', 'two');
    expect([await read(preview, '/sales'), await read(preview, '/whats')]).toEqual(['1', 'sanitized']);
    await eventually(
      'the host is told where it is',
      async () => commentOn(host, 7).includes(preview),
      soonSeconds,
      () => commentOn(host, 7),
    );
    await eventually('the commit is told to be good', async () => stateOf(host, commit) === 'success', soonSeconds);

    const read8 = host.pullRequest(8, shopFiles('three'), { isFromFork: true });
    await happens({ kind: 'pull-request', number: 8, as: 'opened' });
    await eventually(
      'the fork is told to wait',
      async () => /approv/i.test(commentOn(host, 8)),
      soonSeconds,
      () => commentOn(host, 8),
    );
    const { id: ofCode } = (await shop.api('GET', '/integrations')).find(({ type }: { type: string }) => type === 'github');
    expect(await names()).not.toContain('pr-8');
    await shop.api('POST', `/integrations/${ofCode}/pull-requests/8/approve`, { commit: read8 });
    await answering(shop, 'pr-8', 'three');

    for (const number of [7, 8]) {
      host.close(number);
      await happens({ kind: 'pull-request', number, as: 'closed' });
    }
    await eventually('closing removes the environments', async () => (await names()).join() === 'main', soonSeconds);

    host.commit('main', {
      ...shopFiles('four'),
      '.upsun/config.yaml': shopFiles('four')['.upsun/config.yaml']!.replace('set -e', 'exit 3'),
    });
    await happens({ kind: 'ref', ref: 'refs/heads/main', commit: host.state.branches.get('main') });
    await eventually('the webhook hears of the failure', async () => receiver.told.some(({ result }) => result === 'failure'), soonSeconds);
    expect((await letterTo(installation.data, email, /deployment/i)).text).toContain('main');
    expect(await read(main, '/')).toBe('one');
  },
);

test.for(['gitlab', 'gitea'] as const)(
  'a pull request at %s has an environment with data, and its address is told there',
  { timeout: storyMilliseconds },
  async (type) => {
    await using installation = await createInstallation({ ...plainHttp, OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
    const shop = await openProject(await firstPerson(installation.url, await installation.start()));
    const host = await openMirroredHost(type);
    await using _host = { [Symbol.asyncDispose]: async () => host.closeHost() };
    host.commit('main', shopFiles('one'));
    await shop.api('POST', '/integrations', host.body);
    const main = await answering(shop, 'main', 'one');
    expect((await visit(new URL('/?n=1&what=thing', main).href, { method: 'POST' })).text).toBe('sold');
    host.pullRequest(7, shopFiles('two'));
    await tellPlatform(host, { kind: 'pull-request', number: 7, as: 'opened' });
    const preview = await answering(shop, 'pr-7', 'two');
    expect(await read(preview, '/sales')).toBe('1');
    await eventually(
      'the host is told where it is',
      async () => commentOn(host, 7).includes(preview),
      soonSeconds,
      () => commentOn(host, 7),
    );
    host.close(7);
    await tellPlatform(host, { kind: 'pull-request', number: 7, as: 'closed' });
    const count = async () => (await shop.api('GET', '/environments')).length;
    await eventually('closing removes the environment', async () => (await count()) === 1, soonSeconds);
  },
);

/** Where an environment is found that answers so. */
async function answering(project: Project, environment: string, version: string): Promise<string> {
  let address = '';
  let said = '';
  const look = async () => {
    address = await project.address(environment);
    said = await read(address, '/');
    return said === version;
  };
  await eventually(
    `${environment} answers`,
    () => look().catch((error: Error) => ((said = error.message), false)),
    soonSeconds,
    () => said,
  );
  return address;
}

/** As GitHub and Gitea keep it, and as GitLab does. */
type RegisteredHook = { config: { url: string; secret: string } } | { url: string; token: string };

/** As the host does it: to the address that it was given, with the secret for it. */
async function tellPlatform(host: MirroredHost, happening: Happening) {
  await eventually('the webhook is registered', async () => host.state.hooks.size > 0, soonSeconds);
  const [hook] = [...host.state.hooks.values()] as RegisteredHook[];
  if (!hook) throw new Error('The host has no webhook.');
  const [url, secret] = 'config' in hook ? [hook.config.url, hook.config.secret] : [hook.url, hook.token];
  const { headers, body } = host.deliver(happening, secret);
  const { status } = await fetch(url, { method: 'POST', headers: headers as Record<string, string>, body: new Uint8Array(body) });
  expect(status).toBe(200);
}

const commentOn = ({ state }: MirroredHost, number: number) => state.comments.find(({ pullRequest }) => pullRequest === number)?.text ?? '';
const stateOf = ({ state }: MirroredHost, commit: string) => state.statuses.findLast((status) => status.commit === commit)?.body['state'];

async function openReceiver() {
  const told: { type: string; result: string }[] = [];
  const server = createServer((request, reply) => {
    void text(request).then((body) => {
      told.push(JSON.parse(body));
      reply.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    told,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
