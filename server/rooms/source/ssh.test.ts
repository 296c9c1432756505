/** Git over SSH, with the client that people have. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { newHostKey, openSshPrivateKey } from '../../drivers/ssh/host-key.ts';
import { parsePublicKey, type PublicKey } from '../../drivers/ssh/public-key.ts';
import { commit, good, openSource, run } from '../../testing/git.ts';
import { certify } from '../sign-in/public.ts';

const { folder, home, ssh, owner, organization_id, project, urlFor, workingCopy, colleague, filledProject } = await openSource();

describe('over SSH', () => {
  const key = (name: string) => join(folder, name);
  const newKey = async (name: string, type = 'ed25519', ...more: string[]) => {
    await run('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', key(name), ...more], folder);
    return readFileSync(`${key(name)}.pub`, 'utf8').trim();
  };
  const options = (name: string) =>
    [
      ['-F', 'none', '-i', key(name), '-p', String(ssh.port)],
      ['-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none', '-o', 'BatchMode=yes'],
      ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${key('known_hosts')}`],
    ].flat();
  const overSsh = (name: string, cwd: string, args: string[], env: Record<string, string> = {}) =>
    run('git', args, cwd, { GIT_SSH_COMMAND: ['ssh', ...options(name), '-o', 'SendEnv=PLATFORMSH_PUSH_NO_WAIT'].join(' '), ...env });
  const remote = (id = project) => `${id}@127.0.0.1:${id}.git`;
  const publicKey = (line: string): PublicKey => parsePublicKey(line) ?? expect.fail('no key');
  const certifiedWith = (name: string, certificate: string) => writeFileSync(`${key(name)}-cert.pub`, `${certificate}\n`);

  beforeAll(async () => {
    writeFileSync(key('known_hosts'), `[127.0.0.1]:${ssh.port} ${ssh.hostKey}\n`);
    await owner.send('POST', '/ssh_keys', { value: await newKey('own') });
    await good(await workingCopy(urlFor(owner.apiToken)), 'push', 'origin', 'main');
  });

  test("a key of one's own clones and pushes, in each of its kinds", async () => {
    for (const [type, ...more] of [['ed25519'], ['ecdsa', '-b', '384'], ['rsa', '-b', '2048']] as [string, ...string[]][]) {
      const name = `kind-${type}`;
      expect((await owner.send('POST', '/ssh_keys', { value: await newKey(name, type, ...more) })).status).toBe(201);
      expect(await overSsh(name, folder, ['clone', '--quiet', remote(), `ssh-${type}`])).toMatchObject({ code: 0 });
    }
    const copy = join(folder, 'ssh-ed25519');
    await commit(copy, { 'ssh.txt': 'over ssh' });
    expect(await overSsh('own', copy, ['push', 'origin', 'main'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('remote: Processing activity'),
    });
    await commit(copy, { 'ssh.txt': 'without waiting' });
    const quick = await overSsh('own', copy, ['push', '-o', 'environment.title=Ours', 'origin', 'main'], { PLATFORMSH_PUSH_NO_WAIT: '1' });
    expect(quick).toMatchObject({ code: 0, said: expect.stringContaining('remote: Started activity') });
    expect(quick.said).not.toContain('Processing');
  });

  test('a deleted key opens nothing, and neither does the key of somebody without access', async () => {
    const { json } = await owner.send('POST', '/ssh_keys', { value: await newKey('gone') });
    expect((await overSsh('gone', folder, ['ls-remote', remote()])).code).toBe(0);
    await owner.send('DELETE', `/ssh_keys/${json.key_id}`);
    expect((await overSsh('gone', folder, ['ls-remote', remote()])).said).toContain('Permission denied (publickey)');
    const stranger = await home.person();
    await stranger.send('POST', '/ssh_keys', { value: await newKey('stranger') });
    for (const id of [project, 'absent'])
      expect((await overSsh('stranger', folder, ['ls-remote', remote(id)])).said).toContain('No such project, or you have no access to it');
  });

  test('there is no shell, and no other command', async () => {
    const at = `${project}@127.0.0.1`;
    for (const command of [
      [],
      ['id'],
      [`git-upload-archive '${project}.git'`],
      [`git-upload-pack '${project}.git'; id`],
      [`git-upload-pack '../${project}.git'`],
      [`git-upload-pack --strict`],
      ['x'.repeat(5000)],
    ]) {
      const { code, said } = await run('ssh', [...options('own'), at, ...command], folder);
      expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining('To open a shell in a running app') });
    }
    expect((await run('ssh', [...options('own'), 'somebodyelse@127.0.0.1', `git-upload-pack '${project}.git'`], folder)).said).toContain(
      'You connected as somebodyelse',
    );
    expect((await run('ssh', [...options('own'), '-s', at, 'sftp'], folder)).code).not.toBe(0);
    expect((await run('ssh', [...options('own'), '-o', 'ExitOnForwardFailure=yes', '-W', '127.0.0.1:22', at], folder)).said).toMatch(
      /open failed|forwarding/i,
    );
  });

  test.each([['ed25519'], ['ecdsa', '-b', '521'], ['rsa', '-b', '3072']])(
    'a certificate of POST /ssh for %s is as good as the token it was asked for with',
    async (type, ...more) => {
      const { id, copy } = await filledProject();
      const person = await colleague(id, 'development:contributor', 'production:viewer', 'staging:viewer');
      const name = `certified-${type}`;
      const { json } = await person.send('POST', '/ssh', { key: await newKey(name, type, ...more) });
      expect((await overSsh(name, folder, ['ls-remote', remote(id)])).said).toContain('Permission denied');
      certifiedWith(name, json.certificate);
      await commit(copy, { 'dev.txt': type });
      expect(await overSsh(name, copy, ['push', remote(id), 'dev'])).toMatchObject({ code: 0 });
      const [token] = (await person.send('GET', `/users/${person.user.id}/api-tokens`)).json;
      await person.send('DELETE', `/users/${person.user.id}/api-tokens/${token.id}`);
      expect((await overSsh(name, folder, ['ls-remote', remote(id)])).said).toContain('Permission denied');
    },
  );

  test('a certificate counts only if it is ours, of now, and for the person it names', async () => {
    const line = await newKey('certificate');
    const { keys, callerOf } = { ...home.platform };
    const caller = await callerOf(owner.accessToken);
    const proof = { sub: owner.user.id, via: caller?.via ?? '', generation: owner.user.token_generation, amr: ['pwd', 'mfa'] };
    const now = Math.floor(Date.now() / 1000);
    const attempt = async (certificate: string) => {
      certifiedWith('certificate', certificate);
      return (await overSsh('certificate', folder, ['ls-remote', remote()])).code;
    };
    expect(await attempt(certify(publicKey(line), proof, keys.sshAuthority))).toBe(0);
    const [type = '', base64 = ''] = certify(publicKey(line), proof, keys.sshAuthority).split(' ');
    const tampered = Buffer.from(base64, 'base64');
    tampered[60] = (tampered[60] ?? 0) ^ 1;
    const refused = {
      expired: certify(publicKey(line), proof, keys.sshAuthority, now - 4000),
      'not yet valid': certify(publicKey(line), proof, keys.sshAuthority, now + 4000),
      'of another authority': certify(publicKey(line), proof, newHostKey()),
      'of an older generation': certify(publicKey(line), { ...proof, generation: proof.generation - 1 }, keys.sshAuthority),
      'of another person': certify(publicKey(line), { ...proof, sub: crypto.randomUUID() }, keys.sshAuthority),
      'changed afterwards': `${type} ${tampered.toString('base64')}`,
      "for somebody else's key": certify(publicKey(readFileSync(`${key('stranger')}.pub`, 'utf8')), proof, keys.sshAuthority),
    };
    for (const [what, certificate] of Object.entries(refused)) expect([what, await attempt(certificate)]).not.toEqual([what, 0]);
  });

  test('a certificate of our authority counts only for its own principal, without conditions that we do not know', async () => {
    await newKey('principal');
    const { keys, callerOf } = { ...home.platform };
    const caller = await callerOf(owner.accessToken);
    const { id } = owner.user;
    const proof = JSON.stringify({ sub: id, via: caller?.via, generation: owner.user.token_generation, amr: ['mfa'] });
    writeFileSync(key('authority'), openSshPrivateKey(keys.sshAuthority), { mode: 0o600 });
    const attempt = async (...args: string[]) => {
      const signing = [
        '-q',
        '-s',
        key('authority'),
        '-V',
        '+5m',
        '-O',
        `extension:proof@offshoot=${proof}`,
        ...args,
        `${key('principal')}.pub`,
      ];
      const signed = await run('ssh-keygen', signing, folder);
      expect(signed).toEqual({ code: 0, said: '' });
      return (await overSsh('principal', folder, ['ls-remote', remote()])).code === 0;
    };
    expect({
      right: await attempt('-I', id, '-n', id),
      'wrong principal': await attempt('-I', id, '-n', 'somebody'),
      'no principal': await attempt('-I', id),
      'wrong key id': await attempt('-I', crypto.randomUUID(), '-n', id),
      'unknown condition': await attempt('-I', id, '-n', id, '-O', 'force-command=id'),
    }).toEqual({ right: true, 'wrong principal': false, 'no principal': false, 'wrong key id': false, 'unknown condition': false });
  });

  test('what an organization asks of its people it asks here too: a key is no second factor, a certificate may be', async () => {
    const { id } = await filledProject();
    const strong = await home.person({ strong: true });
    await owner.send('POST', `/organizations/${organization_id}/members`, { user_id: strong.user.id });
    await owner.send('POST', `/projects/${id}/user-access`, [{ user_id: strong.user.id, permissions: ['admin'] }]);
    await home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', strong.user.id).execute();
    await home.platform.db.updateTable('organizations').set({ enforce_mfa: true }).where('id', '=', organization_id).execute();
    await strong.send('POST', '/ssh_keys', { value: await newKey('weak') });
    expect((await overSsh('weak', folder, ['ls-remote', remote(id)])).said).toContain('access requires MFA');
    const { json } = await strong.send('POST', '/ssh', { key: await newKey('strong') });
    certifiedWith('strong', json.certificate);
    expect((await overSsh('strong', folder, ['ls-remote', remote(id)])).code).toBe(0);
    await home.platform.db.updateTable('organizations').set({ enforce_mfa: false }).where('id', '=', organization_id).execute();
  });

  test('one connection serves many commands, one after the other', async () => {
    const shared = ['-o', 'ControlMaster=auto', '-o', `ControlPath=${key('control')}`, '-o', 'ControlPersist=10'];
    for (let n = 0; n < 12; n += 1)
      expect((await run('ssh', [...options('own'), ...shared, `${project}@127.0.0.1`, 'id'], folder)).said).toContain(
        'There is no shell here',
      );
    await run('ssh', [...options('own'), ...shared, '-O', 'exit', `${project}@127.0.0.1`], folder);
  });

  test('rubbish on the line ends that line only', async () => {
    const hellos = fc.constantFrom('', 'SSH-2.0-x\r\n', 'SSH-1.99-y\n', 'GET / HTTP/1.1\r\n\r\n');
    await fc.assert(
      fc.asyncProperty(hellos, fc.uint8Array({ maxLength: 3000 }), async (hello, bytes) => {
        const socket = createConnection(ssh.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.resume();
        await once(socket, 'connect');
        socket.end(Buffer.concat([Buffer.from(hello), Buffer.from(bytes)]));
        // Also where the line is cut while there is something in it.
        await new Promise((resolve) => socket.once('close', resolve));
      }),
      { numRuns: 60 },
    );
    expect((await overSsh('own', folder, ['ls-remote', remote()])).code).toBe(0);
  });

  test('connections that never sign in give way to one that does, from the same address too', async () => {
    const sockets = Array.from({ length: 64 }, () => createConnection(ssh.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    expect((await overSsh('own', folder, ['ls-remote', remote()])).code).toBe(0);
    for (const socket of sockets) socket.destroy();
  });
});

describe('too many at once', () => {
  test('are turned away at the door for SSH, and the next are let in when they are gone', async () => {
    // From an address of their own: that of the others may have connections left.
    const from = { port: ssh.port, host: '127.0.0.1', localAddress: '127.0.0.2' };
    const sockets = Array.from({ length: 70 }, () => createConnection(from));
    let ended = 0;
    for (const socket of sockets)
      socket
        .on('error', () => {})
        .on('close', () => void (ended += 1))
        .resume();
    await expect.poll(() => ended).toBe(6);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => ended).toBe(70);
  });
});
