import { beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { freshPublicKey } from '../../testing/samples.ts';

const begun = Date.now();
let platform: TestPlatform;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  platform = await openTestPlatform();
  ada = await platform.person({ username: 'Ada', email: 'ada+test@example.org' });
  bob = await platform.person();
});

describe('a user', () => {
  test('sees themselves by each address, and is the same there', async () => {
    const me = await ada.send('GET', '/users/me');
    expect(me).toMatchObject({
      status: 200,
      json: { id: ada.user.id, email: 'ada+test@example.org', phone_number_verified: false, mfa_enabled: false },
    });
    expect(me.json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    for (const path of [
      `/users/${ada.user.id}`,
      '/users/email=ada%2Btest@example.org',
      '/users/email%3DADA%2Btest%40example.org',
      '/users/username=ada',
    ]) {
      expect((await ada.send('GET', path)).json).toEqual(me.json);
    }
  });

  test('never shows what is not in its schema', async () => {
    const { text } = await ada.send('GET', '/users/me');
    for (const hidden of ['password_hash', 'token_generation', 'is_operator', 'uid']) expect(text).not.toContain(`"${hidden}"`);
  });

  test('changes their profile, and only what they name', async () => {
    const { status, json } = await ada.send('PATCH', `/users/${ada.user.id}`, { first_name: 'Ada', country: 'GB' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ first_name: 'Ada', last_name: '', country: 'GB' });
    expect(Date.parse(json.updated_at)).toBeGreaterThan(Date.parse(json.created_at));
    expect((await ada.send('GET', '/users/me')).json).toEqual(json);
  });

  test('is told every field that is wrong with a change', async () => {
    const changes = {
      country: 'ZZ',
      last_name: 'a\u202Eb',
      website: 'javascript:alert(1)',
      first_name: 'a\nb',
      email: 'x@y.z',
      username: 5,
    };
    const { status, json } = await ada.send('PATCH', `/users/${ada.user.id}`, changes);
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual(Object.keys(changes).sort());
  });

  test('cannot take the username of another, in whatever case', async () => {
    expect(await bob.send('PATCH', `/users/${bob.user.id}`, { username: 'ADA' })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('taken') },
    });
  });

  test('who was deactivated is signed out at once', async () => {
    const eve = await platform.person();
    expect((await eve.send('GET', '/users/me')).status).toBe(200);
    await platform.platform.db.updateTable('users').set({ deactivated: true }).where('id', '=', eve.user.id).execute();
    expect((await eve.send('GET', '/users/me')).status).toBe(401);
  });
});

describe('an API token', () => {
  const tokensOf = (person: Person) => `/users/${person.user.id}/api-tokens`;

  test('shows its secret once, and is kept as a hash', async () => {
    const { status, json } = await ada.send('POST', tokensOf(ada), { name: 'ci' });
    expect(status).toBe(201);
    expect(json).toMatchObject({ name: 'ci', last_used_at: null, mfa_on_creation: false });
    expect(json.token.length).toBeGreaterThanOrEqual(40);
    const again = await ada.send('GET', `${tokensOf(ada)}/${json.id}`);
    expect(again.json).toEqual({ ...json, token: undefined });
    expect((await ada.send('GET', tokensOf(ada))).text).not.toContain(json.token);
    const stored = await platform.platform.db.selectFrom('api_tokens').selectAll().where('id', '=', json.id).execute();
    expect(JSON.stringify(stored)).not.toContain(json.token);
  });

  test('remembers when it was last used', async () => {
    const [used] = (await ada.send('GET', tokensOf(ada))).json;
    expect(Date.parse(used.last_used_at)).toBeGreaterThanOrEqual(begun);
  });

  test('needs a name of its own', async () => {
    await ada.send('POST', tokensOf(ada), { name: 'twice' });
    expect((await ada.send('POST', tokensOf(ada), { name: 'twice' })).status).toBe(409);
    expect((await bob.send('POST', tokensOf(bob), { name: 'twice' })).status).toBe(201);
    expect((await ada.send('POST', tokensOf(ada), { name: '' })).status).toBe(400);
  });

  test('cannot be made for somebody else, not even by an operator', async () => {
    const operator = await platform.person({ is_operator: true });
    expect((await operator.send('POST', tokensOf(ada), { name: 'mine' })).status).toBe(403);
    expect((await bob.send('POST', tokensOf(ada), { name: 'mine' })).status).toBe(404);
  });

  test('ends what it signed in when it is deleted', async () => {
    const carol = await platform.person();
    const [token] = (await carol.send('GET', tokensOf(carol))).json;
    expect((await carol.send('DELETE', `${tokensOf(carol)}/${token.id}`)).status).toBe(204);
    expect((await carol.send('GET', '/users/me')).status).toBe(401);
  });
});

describe('an SSH key', () => {
  test('is added, listed under /me, and deleted', async () => {
    const value = freshPublicKey('ada@laptop');
    const { status, json } = await ada.send('POST', '/ssh_keys', { value });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      title: 'ada@laptop',
      value: value.split(' ', 2).join(' '),
      fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const me = (await ada.send('GET', '/me')).json;
    expect(me).toMatchObject({ id: ada.user.id, uuid: ada.user.id, has_key: true });
    const { _links, ...key } = json;
    expect(me.ssh_keys).toEqual([key]);
    expect((await bob.send('POST', '/ssh_keys', { value })).status).toBe(409);
    expect((await bob.send('DELETE', `/ssh_keys/${json.key_id}`)).status).toBe(404);
    expect((await ada.send('DELETE', `/ssh_keys/${json.key_id}`)).status).toBe(204);
    expect((await ada.send('GET', `/ssh_keys/${json.key_id}`)).status).toBe(404);
  });

  test.for(['', 'rubbish', 'ssh-ed25519', 'ssh-ed25519 AAAA', 'ssh-dss AAAAB3NzaC1kc3M=', '-----BEGIN OPENSSH PRIVATE KEY-----'])(
    'is refused when it is not one: %s',
    async (value) => {
      expect(await ada.send('POST', '/ssh_keys', { value })).toMatchObject({
        status: 400,
        json: { detail: { value: expect.any(String) } },
      });
    },
  );

  test('cannot be added for another', async () => {
    expect((await ada.send('POST', '/ssh_keys', { value: freshPublicKey(), uuid: bob.user.id })).status).toBe(403);
  });
});

test('no secret reaches the log', async () => {
  const secrets = [ada.apiToken, ada.accessToken, bob.apiToken];
  for (const secret of secrets) expect(platform.logLines.join('')).not.toContain(secret);
});
