import { beforeEach, describe, expect, test } from 'vitest';
import { answerOf, authorizeUrl, freshVerifier, openBrowser, openProgram, password, password_hash } from '../../testing/browser.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';

const home = await openTestPlatform();
const { person, platform, mail } = home;
const { db } = platform;
const program = openProgram(home);
const ada = await person({ username: 'ada', first_name: 'Ada', last_name: 'Lovelace', password_hash });
const bob = await person();
const operator = await person({ is_operator: true });

const profileOf = ({ user }: Person) => `/profiles/${user.id}`;

beforeEach(() => db.deleteFrom('attempts').execute());

describe('a profile', () => {
  test('is there from the beginning, with every field', async () => {
    const { status, json } = await bob.send('GET', profileOf(bob));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: bob.user.id,
      display_name: bob.user.username,
      email: bob.user.email,
      username: bob.user.username,
      type: 'user',
      company_type: '',
      company_name: '',
      currency: 'EUR',
      vat_number: '',
      company_role: '',
      website_url: '',
      new_ui: true,
      ui_colorscheme: 'light',
      default_catalog: '',
      project_options_url: '',
      marketing: false,
      billing_contact: bob.user.email,
      invoiced: false,
      customer_type: 'individual',
      legal_entity_name: '',
      created_at: expect.stringMatching(/Z$/),
    });
  });

  test('is one’s own in the list, and everybody’s to operators, a page at a time', async () => {
    expect((await ada.send('GET', '/profiles')).json).toMatchObject({ count: 1, profiles: [{ id: ada.user.id }] });
    const first = await operator.send('GET', '/profiles?page[size]=2');
    expect(first.json).toMatchObject({ count: 3, profiles: [{ id: ada.user.id }, { id: bob.user.id }] });
    expect((await operator.send('GET', first.json._links.next.href)).json.profiles).toMatchObject([{ id: operator.user.id }]);
  });

  test('takes changes, and the user shows them too', async () => {
    const changes = {
      display_name: 'Augusta Ada King',
      company_name: 'Analytical Engines',
      company_role: 'Programmer',
      vat_number: 'NL001234567B01',
      ui_colorscheme: 'dark',
      marketing: true,
      project_options_url: 'https://example.org/options.json',
    };
    const { status, json } = await ada.send('PATCH', profileOf(ada), changes);
    expect({ status, json }).toMatchObject({ status: 200, json: changes });
    expect((await ada.send('GET', profileOf(ada))).json).toEqual(json);
    expect((await ada.send('GET', '/users/me')).json).toMatchObject({
      first_name: 'Augusta',
      last_name: 'Ada King',
      company: 'Analytical Engines',
    });
    const again = await ada.send('PATCH', profileOf(ada), { marketing: false });
    expect(again.json).toMatchObject({ ...changes, marketing: false });
  });

  test('refuses what makes no sense, naming every field', async () => {
    const bad = { display_name: '', username: 'a b', ui_colorscheme: 'red', picture: 'javascript:x', vat_number: 'a\nb', invoiced: true };
    const { status, json } = await ada.send('PATCH', profileOf(ada), bad);
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual(Object.keys(bad).sort());
  });

  test('cannot take the username of another; then nothing else is changed either', async () => {
    const { status } = await bob.send('PATCH', profileOf(bob), { username: 'ADA', company_role: 'Thief' });
    expect(status).toBe(409);
    expect((await bob.send('GET', profileOf(bob))).json.company_role).toBe('');
  });

  test('is invisible to strangers', async () => {
    for (const [method, path] of [
      ['GET', profileOf(ada)],
      ['PATCH', profileOf(ada)],
      ['GET', `${profileOf(ada)}/address`],
      ['PATCH', `${profileOf(ada)}/address`],
    ] as const) {
      expect((await bob.send(method, path, method === 'PATCH' ? {} : undefined)).status).toBe(404);
    }
  });
});

describe('a new password', () => {
  const signInOnce = async (login: string, secret: string) => {
    const browser = openBrowser(home);
    const verifier = freshVerifier();
    await browser.visit(authorizeUrl(verifier));
    const page = await browser.signIn(login, secret);
    if (page.status !== 200) return undefined;
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    return (await program.codeExchange(code, verifier)).json as { access_token: string; refresh_token: string };
  };
  const change = (accessToken: string, userId: string, body: object) =>
    home.send({
      method: 'PATCH',
      url: `/profiles/${userId}`,
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    });

  test('ends every other sign-in, keeps the one it was changed with, and is told by mail', async () => {
    const eve = await person({ password_hash });
    const [here, elsewhere] = [await signInOnce(eve.user.email, password), await signInOnce(eve.user.email, password)];
    const next = 'another good password';
    expect((await change(here?.access_token ?? '', eve.user.id, { current_password: password, password: next })).status).toBe(200);

    expect(await program.me(elsewhere?.access_token ?? '')).toBe(401);
    expect((await program.refresh(elsewhere?.refresh_token ?? '')).status).toBe(400);
    const renewed = await program.refresh(here?.refresh_token ?? '');
    expect(renewed.status).toBe(200);
    expect(await program.me(renewed.json.access_token)).toBe(200);

    expect(await signInOnce(eve.user.email, password)).toBeUndefined();
    expect(await signInOnce(eve.user.email, next)).toBeDefined();
    expect(await mail(eve.user.email)).toMatchObject([{ subject: 'Your password was changed' }]);
  });

  test('needs the present one, and is not to be guessed at', async () => {
    const eve = await person({ password_hash });
    const attempt = (body: object) => eve.send('PATCH', profileOf(eve), body);
    expect(await attempt({ password: 'long enough' })).toMatchObject({
      status: 400,
      json: { detail: { current_password: expect.any(String) } },
    });
    expect(await attempt({ password: 'short', current_password: password })).toMatchObject({
      status: 400,
      json: { detail: { password: expect.any(String) } },
    });
    expect(await attempt({ password: 'x'.repeat(201), current_password: password })).toMatchObject({ status: 400 });
    for (let n = 0; n < 10; n += 1)
      expect(await attempt({ password: 'long enough', current_password: 'wrong' })).toMatchObject({
        status: 400,
        json: { detail: { current_password: 'is wrong' } },
      });
    expect((await attempt({ password: 'long enough', current_password: password })).status).toBe(429);
    expect((await eve.send('GET', '/users/me')).status).toBe(200);
  });

  test('cannot be given to somebody who has none, nor by an operator who does not know the present one', async () => {
    const body = { password: 'long enough', current_password: '' };
    expect((await bob.send('PATCH', profileOf(bob), body)).status).toBe(400);
    expect((await operator.send('PATCH', profileOf(ada), { ...body, current_password: 'wrong' })).status).toBe(400);
  });

  test('never reaches the log', () => {
    expect(home.logLines.join('')).not.toContain('another good password');
  });
});

describe('an address', () => {
  const addressOf = (someone: Person) => `${profileOf(someone)}/address`;

  test('is empty at first, and says what a form for it needs', async () => {
    const { json } = await bob.send('GET', addressOf(bob));
    expect(json).toMatchObject({
      name_line: '',
      metadata: { required_fields: expect.arrayContaining(['country', 'locality']), field_labels: { locality: 'City' }, show_vat: false },
    });
  });

  test('takes changes one by one, and its form follows the country', async () => {
    expect((await ada.send('PATCH', addressOf(ada), { country: 'NL', locality: 'Amsterdam' })).json).toMatchObject({
      country: 'NL',
      locality: 'Amsterdam',
      metadata: { show_vat: true },
    });
    const { status, json } = await ada.send('PATCH', addressOf(ada), { country: 'US', postal_code: '10001' });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        country: 'US',
        locality: 'Amsterdam',
        metadata: {
          show_vat: false,
          field_labels: { postal_code: 'ZIP code' },
          required_fields: expect.arrayContaining(['administrative_area']),
        },
      },
    });
    expect((await ada.send('GET', addressOf(ada))).json).toEqual(json);
    expect((await ada.send('PATCH', addressOf(ada), {})).json).toEqual(json);
  });

  test('refuses a country that is none', async () => {
    for (const country of ['Netherlands', 'ZZ', 'XX']) expect((await ada.send('PATCH', addressOf(ada), { country })).status).toBe(400);
  });
});
