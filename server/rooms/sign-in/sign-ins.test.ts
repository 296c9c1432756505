import { expect, test } from 'vitest';
import { answerOf, authorizeUrl, freshVerifier, openBrowser, openProgram, password_hash } from '../../testing/browser.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';

const home = await openTestPlatform();
const { person, send } = home;
const { token, codeExchange, refresh, me } = openProgram(home);

interface Listed {
  program: string;
  user_agent: string;
  address: string;
  is_current: boolean;
  last_used_at: string;
  _links: Record<string, { href: string }>;
}

async function signedIn({ user }: Person, browser = openBrowser(home)) {
  const verifier = freshVerifier();
  const first = await browser.visit(authorizeUrl(verifier));
  if (first.text.includes('name="password"')) await browser.signIn(user.email);
  const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
  return (await codeExchange(code, verifier)).json as { access_token: string; refresh_token: string };
}

const listedBy = async (accessToken: string, { user }: Person): Promise<Listed[]> =>
  (await send({ url: `/users/${user.id}/sign-ins`, headers: { authorization: `Bearer ${accessToken}` } })).json;

test('a person sees where they are signed in, which of these they ask by, and ends one without the others', async () => {
  const ada = await person({ password_hash });
  const [first, second] = [await signedIn(ada), await signedIn(ada)];
  const listed = await listedBy(first.access_token, ada);
  expect(listed.map(({ program, address, is_current }) => ({ program, address, is_current }))).toEqual(
    expect.arrayContaining([
      { program: 'The Upsun CLI', address: '127.0.0.1', is_current: true },
      { program: 'The Upsun CLI', address: '127.0.0.1', is_current: false },
    ]),
  );
  expect(listed.length).toBe(2);
  const other = listed.find(({ is_current }) => !is_current);
  const authorization = `Bearer ${first.access_token}`;
  expect((await send({ method: 'DELETE', url: other?._links['delete']?.href ?? '', headers: { authorization } })).status).toBe(204);
  expect(await me(second.access_token)).toBe(401);
  expect((await refresh(second.refresh_token)).status).toBe(400);
  expect(await me(first.access_token)).toBe(200);
  expect((await listedBy(first.access_token, ada)).length).toBe(1);
});

test('renewing a token says when, and with what, a sign-in was last used', async () => {
  const ada = await person({ password_hash });
  const { refresh_token } = await signedIn(ada);
  const before = (await listedBy(ada.accessToken, ada))[0]?.last_used_at ?? '';
  const renewed = await send({
    method: 'POST',
    url: '/oauth2/token',
    headers: {
      authorization: `Basic ${btoa('upsun-cli:')}`,
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'Newer <b>1.2',
    },
    payload: new URLSearchParams({ grant_type: 'refresh_token', refresh_token }).toString(),
  });
  expect(renewed.status).toBe(200);
  const [listed] = await listedBy(ada.accessToken, ada);
  expect(listed).toMatchObject({ user_agent: 'Newer <b>1.2', is_current: false });
  expect((listed?.last_used_at ?? '') > before).toBe(true);
});

test('signing out elsewhere leaves API tokens alone, and whoever asks; operators end one at a time', async () => {
  const [ada, bob, operator] = [await person({ password_hash }), await person(), await person({ is_operator: true })];
  const { access_token } = await signedIn(ada);
  const asking = await signedIn(ada);
  const path = `/users/${ada.user.id}/sign-ins`;
  expect((await bob.send('GET', path)).status).toBe(404);
  expect((await bob.send('DELETE', path)).status).toBe(404);
  expect(await me(access_token)).toBe(200);
  const authorization = `Bearer ${asking.access_token}`;
  expect((await send({ method: 'DELETE', url: path, headers: { authorization } })).status).toBe(204);
  expect(await me(access_token)).toBe(401);
  expect(await me(asking.access_token)).toBe(200);
  expect((await operator.send('DELETE', path)).status).toBe(403);
  const [left] = (await operator.send('GET', path)).json;
  expect((await operator.send('DELETE', left._links.delete.href)).status).toBe(204);
  expect(await me(asking.access_token)).toBe(401);
  expect((await token({ grant_type: 'api_token', api_token: ada.apiToken }, 'platform-api-user')).status).toBe(200);
});

test('a user carries a link for each thing that can be done about the account, and none for what cannot', async () => {
  const ada = await person();
  const { _links } = (await ada.send('GET', '/users/me')).json;
  const rels = [
    'sign-ins',
    'sign-out-elsewhere',
    'ssh-keys',
    'add-ssh-key',
    'change-email',
    'change-password',
    'connections',
    'enable-totp',
    'upload-picture',
  ];
  expect(Object.keys(_links)).toEqual(expect.arrayContaining(rels));
  for (const absent of ['disable-totp', 'create-recovery-codes', 'delete-picture']) expect(_links[absent]).toBeUndefined();
  const seen = (await (await person({ is_operator: true })).send('GET', `/users/${ada.user.id}`)).json._links;
  for (const absent of ['sign-out-elsewhere', 'change-email', 'change-password', 'add-ssh-key', 'enable-totp'])
    expect(seen[absent]).toBeUndefined();
  expect(seen['sign-ins']).toBeDefined();
});
