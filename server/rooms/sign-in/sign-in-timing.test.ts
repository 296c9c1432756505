/** Whoever may not enter learns nothing from how long that takes: the same work is done for everybody, whether they exist or not. */
import crypto, { type ScryptOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { sql, type KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { serveApi } from '../../kernel/http.ts';
import { rooms } from '../../rooms.ts';
import { authorizeUrl, freshVerifier, openBrowser } from '../../testing/browser.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { hashPassword } from './public.ts';

const home = await openTestPlatform();
const { person, platform } = home;
const { db } = platform;

/** What is asked of the database, by kind and table, and what is derived of passwords, by its cost. */
const work: string[] = [];
const counting: KyselyPlugin = {
  transformQuery({ node }) {
    work.push(node.kind === 'RawNode' ? node.sqlFragments.join('?').trim().slice(0, 40) : node.kind);
    return node;
  },
  transformResult: ({ result }) => Promise.resolve(result),
};
const counted = await serveApi(rooms, { ...platform, db: db.withPlugin(counting) });
const send = async (...[options]: Parameters<typeof home.send>) => {
  const { statusCode, headers, payload } = await counted.inject(options);
  return { status: statusCode, headers, text: payload, json: undefined };
};

const { scrypt } = crypto;
beforeAll(() => {
  const spy = (password: string, salt: Buffer, bytes: number, options: ScryptOptions, done: (error: Error | null, key: Buffer) => void) => {
    work.push(`scrypt N=${options.N} r=${options.r} p=${options.p} of ${bytes}`);
    scrypt(password, salt, bytes, options, done);
  };
  vi.spyOn(crypto, 'scrypt').mockImplementation(spy as typeof scrypt);
  syncBuiltinESMExports();
});
afterAll(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await counted.close();
});
beforeEach(() => db.deleteFrom('attempts').execute());

const password = 'the one and only passphrase';
const password_hash = await hashPassword(password);

async function refused() {
  const [known, gone, withoutPassword] = [await person({ password_hash }), await person({ password_hash }), await person()];
  await db.updateTable('users').set({ deactivated: true }).where('id', '=', gone.user.id).execute();
  return {
    'a wrong password': [known.user.email, 'wrong'],
    'a wrong password for a username': [known.user.username, 'wrong'],
    'somebody who does not exist': ['nobody@example.org', password],
    'a username that does not exist': ['nobody-at-all', password],
    'somebody without a password': [withoutPassword.user.email, password],
    'somebody who was deactivated': [gone.user.email, password],
    'what cannot be a name': ['x'.repeat(5000), password],
    'what cannot be text': ['nul\0', password],
  } as const;
}

test('a sign-in that is refused takes the same work, whoever it is for', async () => {
  const done: Record<string, string[]> = {};
  for (const [who, [login, secret]] of Object.entries(await refused())) {
    const browser = openBrowser({ send });
    await browser.visit(authorizeUrl(freshVerifier()));
    work.length = 0;
    expect({ who, status: (await browser.signIn(login, secret)).status }).toEqual({ who, status: 401 });
    done[who] = [...work];
  }
  const usual = done['a wrong password'] ?? [];
  expect(usual.filter((step) => step.startsWith('scrypt'))).toEqual(['scrypt N=32768 r=8 p=3 of 32']);
  for (const [who, steps] of Object.entries(done)) expect({ who, steps }).toEqual({ who, steps: usual });
});

test('whoever forgot a password is answered before anything is done that only known addresses need', async () => {
  const ada = await person();
  const browser = openBrowser(home);
  await browser.visit('/forgot-password');
  await db.transaction().execute(async (tx) => {
    await sql`lock table mailed_links in access exclusive mode`.execute(tx);
    expect((await browser.submit({ email: ada.user.email })).text).toContain('Check your mail');
    expect(await home.mail(ada.user.email)).toEqual([]);
  });
  await expect.poll(async () => (await home.mail(ada.user.email)).length).toBe(1);
});
