/** Git over HTTP, and the repository over the API. */
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PushHooks } from '../../drivers/git/git.ts';
import { commit, git, good, openSource, run } from '../../testing/git.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';
import type { Tx } from '../../kernel/sql.ts';
import { resumeOrganization, suspendOrganization } from '../organizations/work.ts';
import { hiddenRefs } from './visibility.ts';

const { folder, home, port, owner, organization_id, project, urlFor, workingCopy, colleague, filledProject, activitiesIn } =
  await openSource();

describe('over HTTP', () => {
  test('a push is an activity whose log comes back, and a clone has it', async () => {
    const copy = await workingCopy(urlFor(owner.apiToken));
    const { code, said } = await git(copy, 'push', 'origin', 'main');
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/remote: Processing activity [a-z0-9]+: .* pushed to /) });
    const [activity] = await activitiesIn(project);
    expect(activity).toMatchObject({ type: 'environment.push', state: 'complete', result: 'success' });
    const head = await good(copy, 'rev-parse', 'HEAD');
    expect((await owner.send('GET', `/projects/${project}/environments/main`)).json).toMatchObject({ head_commit: head });
    await good(folder, 'clone', '--quiet', urlFor(owner.apiToken), 'cloned');
    expect(readFileSync(join(folder, 'cloned', 'README.md'), 'utf8')).toBe('hello\n');
  });

  test('a token is taken as a password, as a user name, and as a bearer; access tokens too', async () => {
    const listed = (remote: string, ...config: string[]) => git(folder, ...config, 'ls-remote', remote);
    const bare = `http://127.0.0.1:${port}/git/${project}.git`;
    for (const remote of [
      urlFor(owner.apiToken),
      urlFor('', project, owner.apiToken),
      urlFor('x-oauth-basic', project, owner.apiToken),
      urlFor(owner.accessToken),
    ])
      expect(await listed(remote)).toMatchObject({ code: 0, said: expect.stringContaining('refs/heads/main') });
    expect(await listed(bare, '-c', `http.extraHeader=Authorization: Bearer ${owner.accessToken}`)).toMatchObject({ code: 0 });
    expect((await listed(bare)).said).toContain('could not read Username');
  });

  test('who is nobody is asked who they are; what one cannot see is not there', async () => {
    const at = (path: string, authorization?: string) => home.send({ url: path, headers: authorization ? { authorization } : {} });
    const refs = `/git/${project}.git/info/refs?service=git-upload-pack`;
    expect(await at(refs)).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Basic realm="offshoot"' } });
    expect(await at(refs, `Basic ${btoa('git:wrong')}`)).toMatchObject({ status: 401, text: expect.stringContaining('wrong') });
    const stranger = await home.person();
    const absent = '/git/absent.git/info/refs?service=git-upload-pack';
    for (const path of [refs, absent])
      expect(await at(path, `Bearer ${stranger.accessToken}`)).toMatchObject({
        status: 404,
        text: expect.stringContaining('No such project'),
      });
    expect((await git(folder, 'ls-remote', urlFor(stranger.apiToken))).said).toContain('not found');
    const hostile = [
      '/git/..%2f..%2fetc/info/refs',
      `/git/${project}.git/objects/info/packs`,
      `/git/${project}.git/HEAD`,
      '/git/--upload-pack=x.git/info/refs?service=git-upload-pack',
    ];
    for (const path of hostile) expect([403, 404]).toContain((await at(path, `Bearer ${owner.accessToken}`)).status);
    expect((await at(`/git/${project}.git/info/refs`, `Bearer ${owner.accessToken}`)).status).toBe(403);
  });

  test('while the organization is suspended its code can be fetched, and pushes are refused with a word on why', async () => {
    const { organization_id: suspendedId } = await sampleOrganization(owner);
    const { project_id } = await sampleProject(owner, suspendedId);
    const copy = await workingCopy(urlFor(owner.apiToken, project_id));
    await good(copy, 'push', 'origin', 'main');
    const { db } = home.platform;
    const inTransaction = <T>(change: (tx: Tx) => Promise<T>) => db.transaction().execute(change);
    await inTransaction((tx) => suspendOrganization(tx, home.platform, suspendedId, 'nothing was paid since May'));
    await commit(copy, { 'README.md': 'more\n' });
    const refused = await git(copy, 'push', 'origin', 'main');
    expect(refused.code).not.toBe(0);
    expect(refused.said).toMatch(/is suspended \(nothing was paid since May\).*pay what is due/s);
    await good(copy, 'fetch', 'origin');
    await inTransaction((tx) => resumeOrganization(tx, home.platform, suspendedId));
    await good(copy, 'push', 'origin', 'main');
  });

  test('compressed requests and both protocols are understood', async () => {
    const post = (body: Buffer, headers: Record<string, string>) =>
      home.send({
        method: 'POST',
        url: `/git/${project}.git/git-upload-pack`,
        headers: { authorization: `Bearer ${owner.accessToken}`, 'content-type': 'application/x-git-upload-pack-request', ...headers },
        payload: body,
      });
    const list = Buffer.from('0014command=ls-refs\n00010000');
    expect((await post(gzipSync(list), { 'content-encoding': 'gzip', 'git-protocol': 'version=2' })).text).toContain('refs/heads/main');
    expect((await post(Buffer.from('no gzip'), { 'content-encoding': 'gzip' })).status).toBeLessThan(500);
    expect((await post(list, { 'content-encoding': 'br' })).status).toBe(415);
    for (const version of ['0', '1', '2'])
      await good(folder, '-c', `protocol.version=${version}`, 'clone', '--quiet', urlFor(owner.apiToken), `clone-v${version}`);
  });

  test('push options and deletion follow the rules of environments', async () => {
    const { id, copy } = await filledProject();
    expect((await owner.send('GET', `/projects/${id}/environments/stage`)).json).toMatchObject({
      type: 'staging',
      parent: 'main',
      status: 'inactive',
    });
    await commit(copy, { 'dev.txt': 'quick' });
    const quick = (await git(copy, 'push', '-o', 'no-wait', 'origin', 'dev')).said;
    expect(quick).toContain('remote: Started activity');
    expect(quick).not.toContain('push option');
    expect((await git(copy, 'push', '-o', 'environment.type=nonsense', 'origin', 'dev:new')).said).toMatch(/remote: .*environment\.type/);
    expect((await git(copy, 'push', 'origin', '--delete', 'main')).said).toContain('is the default branch');
    expect(await git(copy, 'push', 'origin', '--delete', 'dev')).toMatchObject({ code: 0 });
    expect((await owner.send('GET', `/projects/${id}/environments/dev`)).status).toBe(404);
  });
});

describe('who may push', () => {
  test('viewers may not, contributors may but not by force, administrators may', async () => {
    const { id, copy } = await filledProject();
    const [viewer, contributor, admin] = [
      await colleague(id, 'development:viewer', 'production:viewer', 'staging:viewer'),
      await colleague(id, 'development:contributor', 'production:viewer', 'staging:viewer'),
      await colleague(id, 'development:admin', 'production:viewer', 'staging:viewer'),
    ];
    await commit(copy, { 'dev.txt': 'd2' });
    expect((await git(copy, 'push', urlFor(viewer.apiToken, id), 'dev')).said).toContain(
      'remote: You may view this project, but not push to it',
    );
    expect(await git(copy, 'push', urlFor(contributor.apiToken, id), 'dev')).toMatchObject({ code: 0 });
    expect((await git(copy, 'push', urlFor(contributor.apiToken, id), 'dev:main')).said).toContain('You may not push to main');
    await good(copy, 'commit', '--quiet', '--amend', '-m', 'Other');
    const forced = await git(copy, 'push', '--force', urlFor(contributor.apiToken, id), 'dev');
    expect(forced).toMatchObject({ code: 1, said: expect.stringContaining('You may not force push to dev') });
    expect(await git(copy, 'push', '--force', urlFor(admin.apiToken, id), 'dev')).toMatchObject({ code: 0 });
    expect(await home.platform.git.branch(id, 'dev')).toBe(await good(copy, 'rev-parse', 'HEAD'));
    expect(await home.platform.db.selectFrom('pushes').selectAll().where('project_id', '=', id).execute()).toEqual([]);
  });

  test('what one may not see is not shown, and cannot be fetched by name or id', async () => {
    const { id, copy } = await filledProject();
    const dev = await colleague(id, 'development:contributor');
    const nothing = await colleague(id, 'viewer');
    const remote = urlFor(dev.apiToken, id);
    const listed = (await git(folder, 'ls-remote', remote)).said;
    expect(listed.match(/refs\/\S+|HEAD/g)).toEqual(['refs/heads/dev']);
    const hidden = await good(copy, 'rev-parse', 'stage');
    await good(folder, 'clone', '--quiet', '--branch', 'dev', remote, 'partial');
    for (const version of ['0', '2']) {
      expect((await git(join(folder, 'partial'), '-c', `protocol.version=${version}`, 'fetch', 'origin', hidden)).code).not.toBe(0);
    }
    const want = (sha: string) => [`0032want ${sha}\n00000009done\n`, `0012command=fetch\n00010032want ${sha}\n0009done\n0000`];
    const ask = async (body: string, headers: Record<string, string>) =>
      (
        await home.send({
          method: 'POST',
          url: `/git/${id}.git/git-upload-pack`,
          headers: { authorization: `Bearer ${dev.accessToken}`, 'content-type': 'application/x-git-upload-pack-request', ...headers },
          payload: body,
        })
      ).text;
    const shown = await good(copy, 'rev-parse', 'dev');
    expect(await ask(want(shown)[0] ?? '', {})).toContain('PACK');
    for (const body of want(hidden))
      for (const headers of [{}, { 'git-protocol': 'version=2' }]) expect(await ask(body, headers)).not.toContain('PACK');
    expect((await git(join(folder, 'partial'), 'cat-file', '-t', hidden)).code).not.toBe(0);
    expect((await git(copy, 'push', remote, 'dev:stage')).code).not.toBe(0);
    await commit(copy, { 'dev.txt': 'd3' });
    expect(await git(copy, 'push', remote, 'dev', 'dev:another')).toMatchObject({ code: 0 });
    expect((await git(folder, 'ls-remote', urlFor(nothing.apiToken, id))).said).toContain('may not view any environment');
    const at = (path: string) => dev.send('GET', `/projects/${id}/git/${path}`);
    expect((await at('refs')).json.map(({ id: ref }: { id: string }) => ref)).toEqual(['heads/another', 'heads/dev']);
    expect((await at('refs/heads%2Fstage')).status).toBe(404);
    expect((await at(`commits/${hidden}`)).status).toBe(404);
    expect((await at(`commits/${await good(copy, 'rev-parse', 'dev')}`)).status).toBe(200);
  });

  test('a ref to what one may not see is refused, however it is reached; what one sends or sees is accepted', async () => {
    const { id, copy } = await filledProject();
    const dev = await colleague(id, 'development:contributor');
    const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
    /** Without what a well-behaved client would send along. */
    const pushAlone = async (sha: string, ref: string, ...sent: string[]) => {
      const pack = execFileSync('git', ['pack-objects', '--stdout', '--quiet'], {
        cwd: copy,
        input: sent.map((one) => `${one}\n`).join(''),
      });
      const { text } = await home.send({
        method: 'POST',
        url: `/git/${id}.git/git-receive-pack`,
        headers: { authorization: `Bearer ${dev.accessToken}`, 'content-type': 'application/x-git-receive-pack-request' },
        payload: Buffer.concat([Buffer.from(`${line(`${'0'.repeat(40)} ${sha} ${ref}\0report-status side-band-64k`)}0000`), pack]),
      });
      return text;
    };
    const [hidden, shown] = [await good(copy, 'rev-parse', 'stage'), await good(copy, 'rev-parse', 'dev')];
    const child = await good(copy, 'commit-tree', 'dev^{tree}', '-p', hidden, '-m', 'On top of it');
    const sameTree = await good(copy, 'commit-tree', 'stage^{tree}', '-p', shown, '-m', 'With its files');
    const refused = 'not on a branch that you may see';
    expect(await pushAlone(hidden, 'refs/heads/stolen')).toContain(refused);
    expect(await pushAlone(hidden, 'refs/tags/stolen')).toContain(refused);
    expect(await pushAlone(child, 'refs/heads/stolen', child)).toContain(refused);
    expect(await pushAlone(sameTree, 'refs/heads/stolen', sameTree)).toContain(refused);
    expect(await pushAlone(await good(copy, 'rev-parse', 'stage:stage.txt'), 'refs/tags/stolen')).toContain(refused);
    expect((await home.platform.git.refs(id)).map(({ name }) => name)).not.toContainEqual(expect.stringContaining('stolen'));
    expect(await pushAlone(shown, 'refs/heads/copied')).toContain('ok refs/heads/copied');
    const remote = urlFor(dev.apiToken, id);
    await commit(copy, { 'dev.txt': 'other' });
    await good(copy, 'push', '-o', 'no-wait', remote, 'dev');
    const old = await good(copy, 'commit-tree', `${shown}^{tree}`, '-p', 'dev', '-m', 'As it was');
    expect(await pushAlone(old, 'refs/heads/reverted', old)).toContain('ok refs/heads/reverted');
    expect(await git(copy, 'push', '-o', 'no-wait', remote, 'stage:refs/heads/mine')).toMatchObject({ code: 0 });
  });

  test('what is taken away while a push is under way counts', async () => {
    const { id, copy } = await filledProject();
    const contributor = await colleague(id, 'development:contributor', 'production:viewer', 'staging:viewer');
    const { git: driver } = home.platform;
    const { serve } = driver;
    driver.serve = (projectId, conversation) => {
      const { hooks } = conversation;
      const before: PushHooks['before'] = async (...told) => {
        await owner.send('DELETE', `/projects/${id}/user-access/${contributor.user.id}`);
        return hooks?.before(...told) ?? [];
      };
      return serve(projectId, { ...conversation, hooks: hooks && { ...hooks, before } });
    };
    try {
      await commit(copy, { 'dev.txt': 'late' });
      expect((await git(copy, 'push', urlFor(contributor.apiToken, id), 'dev')).said).toContain('No such project, or you have no access');
    } finally {
      driver.serve = serve;
    }
    expect(await home.platform.git.branch(id, 'dev')).not.toBe(await good(copy, 'rev-parse', 'dev'));
  });

  test('nobody takes the places of others', async () => {
    const { id } = await filledProject();
    const greedy = await colleague(id, 'development:viewer', 'production:viewer', 'staging:viewer');
    const sockets: Socket[] = [];
    const take = () => {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      socket.write(
        `POST /git/${id}.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${greedy.accessToken}\r\nContent-Length: 100\r\n\r\n00`,
      );
      sockets.push(socket);
    };
    for (let taken = 0; taken < 8; taken++) take();
    const listed = async (token: string) => (await git(folder, 'ls-remote', urlFor(token, id))).code;
    // Listing takes a place too, perhaps before one of the eight: that one's is taken by the next.
    const crowded = () => {
      take();
      return listed(greedy.apiToken);
    };
    await expect.poll(crowded).not.toBe(0);
    expect(await listed(owner.apiToken)).toBe(0);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => listed(greedy.apiToken)).toBe(0);
  });

  test('a name in front of hidden branches does not show them', async () => {
    const { id, copy } = await filledProject();
    const dev = await colleague(id, 'development:contributor');
    await good(copy, 'push', 'origin', 'stage:release/secret', '-o', 'environment.type=staging');
    await good(copy, 'push', 'origin', 'dev:reserved');
    await home.platform.db
      .updateTable('environments')
      .set({ id: 'release' })
      .where('project_id', '=', id)
      .where('id', '=', 'reserved')
      .execute();
    expect((await git(folder, 'ls-remote', urlFor(dev.apiToken, id))).said.match(/refs\/\S+/g)).toEqual(['refs/heads/dev']);
    const secret = await good(copy, 'rev-parse', 'stage');
    expect((await dev.send('GET', `/projects/${id}/git/commits/${secret}`)).status).toBe(404);
    const visibility = { isWhole: false as const, visible: ['a', 'b/c/d'], hidden: ['a/x', 'b'] };
    expect(hiddenRefs(visibility, 'receive-pack', { default_branch: 'a' }, [])).toEqual([
      'refs/tags',
      '!refs/heads/a',
      'refs/heads/b',
      'refs/heads/a/x',
      '!refs/heads/b/c/d',
    ]);
  });

  test('an organization that asks for a second factor asks for it here too', async () => {
    const { id } = await filledProject();
    const person = await colleague(id, 'development:contributor');
    await home.platform.db.updateTable('organizations').set({ enforce_mfa: true }).where('id', '=', organization_id).execute();
    expect((await git(folder, 'ls-remote', urlFor(person.apiToken, id))).said).toContain('access requires MFA');
    await home.platform.db.updateTable('organizations').set({ enforce_mfa: false }).where('id', '=', organization_id).execute();
  });
});

describe('what cannot be pushed', () => {
  test('is refused in words, and nothing is changed', async () => {
    const copy = await workingCopy(urlFor(owner.apiToken), { x: '1' });
    const { project_id: id } = await sampleProject(owner, organization_id);
    const push = (...refs: string[]) => git(copy, 'push', urlFor(owner.apiToken, id), ...refs);
    expect((await push('HEAD:refs/heads/-rf')).said).toContain('cannot be the name of an environment');
    expect((await push('HEAD:refs/heads/--upload-pack=x')).code).not.toBe(0);
    expect((await push('HEAD:refs/notes/commits')).said).toContain('Only branches and tags can be pushed');
    expect((await push('HEAD:refs/heads/HEAD')).code).not.toBe(0);
    expect((await push('HEAD:refs/heads/x', 'HEAD:refs/meta/config')).code).not.toBe(0);
    expect(await home.platform.git.refs(id)).toEqual([]);
    expect(await activitiesIn(id)).toEqual([]);
  });

  test('tags are kept without an activity, and stay what they are', async () => {
    const { id, copy } = await filledProject();
    const before = (await activitiesIn(id)).length;
    const contributor = await colleague(id, 'development:contributor', 'production:viewer', 'staging:viewer');
    const remote = urlFor(contributor.apiToken, id);
    await good(copy, 'tag', 'v1');
    expect(await git(copy, 'push', remote, 'v1')).toMatchObject({ code: 0 });
    await good(copy, 'tag', '-f', 'v1', 'main');
    expect((await git(copy, 'push', '--force', remote, 'v1')).said).toContain('only administrators');
    expect((await owner.send('GET', `/projects/${id}/git/refs/tags%2Fv1`)).json).toMatchObject({ id: 'tags/v1', ref: 'refs/tags/v1' });
    expect(await activitiesIn(id)).toHaveLength(before);
  });

  test('more than the limit', async () => {
    const { project_id: id } = await sampleProject(owner, organization_id);
    await home.platform.db
      .updateTable('projects')
      .set({ settings: JSON.stringify({ git_server: { push_size_hard_limit: 1 } }) })
      .where('id', '=', id)
      .execute();
    const copy = await workingCopy(urlFor(owner.apiToken, id), { big: randomBytes(6 * 1024 * 1024).toString('base64') });
    const { code, said } = await git(copy, 'push', 'origin', 'main');
    expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining('exceeds maximum allowed size') });
    expect(await home.platform.git.refs(id)).toEqual([]);
  });

  test('a broken pack, and bytes that are no Git at all', async () => {
    const { id } = await filledProject();
    const refs = await home.platform.git.refs(id);
    const [main = { sha: '' }] = refs;
    const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
    const commands = [
      `${line(`${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/x\0report-status`)}0000PACK`,
      `${line(`${main.sha} ${'0'.repeat(40)} refs/heads/../../x\0report-status`)}0000`,
      `${line(`${'0'.repeat(40)} ${main.sha} refs/heads/a b\0report-status`)}0000`,
    ];
    const bodies = fc.oneof(
      fc.constantFrom(...commands),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    );
    await fc.assert(
      fc.asyncProperty(bodies, fc.constantFrom('git-receive-pack', 'git-upload-pack'), async (body, service) => {
        const { status } = await home.send({
          method: 'POST',
          url: `/git/${id}.git/${service}`,
          headers: { authorization: `Bearer ${owner.accessToken}`, 'content-type': `application/x-${service}-request` },
          payload: Buffer.from(body, 'latin1'),
        });
        expect(status).toBe(200);
      }),
      { numRuns: 40 },
    );
    expect(await home.platform.git.refs(id)).toEqual(refs);
  });

  test('a client who goes away in the middle leaves no process behind', async () => {
    const { id } = await filledProject();
    const processes = async () => (await run('pgrep', ['-f', `(receive|upload)-pack .*${id}.git`], folder)).said.trim();
    for (const service of ['git-receive-pack', 'git-upload-pack']) {
      const socket = createConnection(port, '127.0.0.1');
      const head = `POST /git/${id}.git/${service} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.accessToken}\r\nContent-Length: 100000\r\n\r\n`;
      socket.write(`${head}0098`);
      await expect.poll(processes).not.toBe('');
      socket.destroy();
      await expect.poll(processes).toBe('');
    }
  });

  test('an operator who restarts the server of a project ends what Git does for it, and nothing else', async () => {
    const [restarted, other] = [(await filledProject()).id, (await filledProject()).id];
    const operator = await home.person({ is_operator: true });
    const processes = async (id: string) => (await run('pgrep', ['-f', `upload-pack .*${id}.git`], folder)).said.trim();
    const sockets = [restarted, other].map((id) => {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      const head = `POST /git/${id}.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.accessToken}\r\nContent-Length: 100000\r\n\r\n`;
      socket.write(`${head}0098`);
      return socket;
    });
    for (const id of [restarted, other]) await expect.poll(() => processes(id)).not.toBe('');
    expect((await owner.send('POST', `/projects/${restarted}/system/restart`)).status).toBe(403);
    expect((await operator.send('POST', `/projects/${restarted}/system/restart`)).status).toBe(200);
    await expect.poll(() => processes(restarted)).toBe('');
    expect(await processes(other)).not.toBe('');
    for (const socket of sockets) socket.destroy();
    expect((await git(folder, 'ls-remote', urlFor(owner.apiToken, restarted))).code).toBe(0);
  });

  test('Git killed between the two halves of a push leaves a branch with its activity, or neither', async () => {
    const { git: driver, db } = home.platform;
    const { serve } = driver;
    const pushWith = async (spoil: (hooks: PushHooks, id: string) => PushHooks) => {
      const { project_id: id } = await sampleProject(owner, organization_id);
      const copy = await workingCopy(urlFor(owner.apiToken, id));
      driver.serve = (projectId, conversation) =>
        serve(projectId, {
          ...conversation,
          hooks: conversation.hooks && projectId === id ? spoil(conversation.hooks, id) : conversation.hooks,
        });
      try {
        await git(copy, 'push', 'origin', 'main');
      } finally {
        driver.serve = serve;
      }
      await expect.poll(() => db.selectFrom('pushes').selectAll().where('project_id', '=', id).execute()).toEqual([]);
      return { branches: (await driver.branches(id)).size, activities: (await activitiesIn(id)).length };
    };
    const kill = async (id: string) => {
      // One that ended with another of them is gone already.
      for (const pid of (await run('pgrep', ['-f', `receive-pack .*${id}.git`], folder)).said.split('\n').filter(Boolean))
        await run('kill', ['-KILL', pid], folder);
    };
    const before = await pushWith((hooks, id) => ({
      ...hooks,
      before: async (...told) => {
        const lines = await hooks.before(...told);
        await kill(id);
        return lines;
      },
    }));
    expect(before).toEqual({ branches: 0, activities: 0 });
    const after = await pushWith((hooks, id) => ({
      ...hooks,
      async *after() {
        await kill(id);
        yield 'nobody is there to read this';
      },
    }));
    expect(after).toEqual({ branches: 1, activities: 1 });
  });

  test('a pusher who hangs up after the branches have moved has pushed all the same', async () => {
    const { project_id: id } = await sampleProject(owner, organization_id);
    const copy = await workingCopy(urlFor(owner.apiToken, id));
    const child = execFile('git', ['push', urlFor(owner.apiToken, id), 'main'], {
      cwd: copy,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    });
    child.stderr?.on('data', (text: string) => void (text.includes('Processing') && child.kill('SIGKILL')));
    await once(child, 'exit');
    await expect
      .poll(async () => (await activitiesIn(id)).map(({ state, result }) => ({ state, result })))
      .toEqual([{ state: 'complete', result: 'success' }]);
    await expect.poll(() => home.platform.db.selectFrom('pushes').selectAll().where('project_id', '=', id).execute()).toEqual([]);
  });
});

describe('the repository over the API', () => {
  test('shows refs, commits, trees, blobs and differences', async () => {
    const { id, copy } = await filledProject();
    const at = async (path: string) => (await owner.send('GET', `/projects/${id}/git/${path}`)).json;
    const binary = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    writeFileSync(join(copy, 'binary'), binary);
    await commit(copy, { 'dev.txt': 'changed\n' }, 'With bytes');
    await good(copy, 'push', 'origin', 'dev');
    const head = await good(copy, 'rev-parse', 'dev');
    expect(await at('refs/heads%2Fdev')).toMatchObject({
      id: 'heads/dev',
      ref: 'refs/heads/dev',
      object: { type: 'commit', sha: head },
      sha: head,
      _links: { self: { href: `/api/projects/${id}/git/refs/heads%2Fdev` } },
    });
    expect((await at('refs')).map(({ id: ref }: { id: string }) => ref)).toEqual(['heads/dev', 'heads/main', 'heads/stage']);
    const made = await at(`commits/${head}`);
    expect(made).toMatchObject({
      id: head,
      sha: head,
      message: 'With bytes\n',
      author: { name: 'Ada', email: 'ada@example.org', date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
      parents: [expect.any(String)],
    });
    const tree = await at(`trees/${made.tree}`);
    const entry = tree.tree.find(({ path }: { path: string }) => path === 'binary');
    expect(entry).toMatchObject({ mode: '100644', type: 'blob' });
    const blob = await at(`blobs/${entry.sha}`);
    expect(blob).toMatchObject({ size: 256, encoding: 'base64' });
    expect(Buffer.from(blob.content, 'base64').equals(binary)).toBe(true);
    expect(await at(`diffs/${made.parents[0]}/${head}`)).toMatchObject([
      { new_path: 'binary', old_path: null },
      { new_path: 'dev.txt', diff: expect.stringContaining('+changed') },
    ]);
  });

  test('answers 404 for what is not there, and 413 for what is too large', async () => {
    const { id, copy } = await filledProject();
    const status = async (path: string) => (await owner.send('GET', `/projects/${id}/git/${path}`)).status;
    const absent = 'a'.repeat(40);
    const head = await good(copy, 'rev-parse', 'dev');
    for (const path of [
      `commits/${absent}`,
      `commits/main`,
      'commits/--all',
      `trees/${absent}`,
      `trees/${head}`,
      `blobs/${absent}`,
      `blobs/${head}`,
      'refs/heads%2Fabsent',
      'refs/--x',
      `diffs/${absent}/${head}`,
      `diffs/--output=x/${head}`,
    ])
      expect([path, await status(path)]).toEqual([path, 404]);
    writeFileSync(join(copy, 'large'), Buffer.alloc(17 * 1024 * 1024));
    await commit(copy, {});
    await good(copy, 'push', 'origin', 'dev');
    expect(await status(`blobs/${await good(copy, 'rev-parse', 'dev:large')}`)).toBe(413);
  });
});
