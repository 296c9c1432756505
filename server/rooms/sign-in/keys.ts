/**
 * The keys that every process of the installation shares: what signs access tokens, cookies and SSH certificates. They are made once,
 * kept sealed, and never leave the server. Tokens and cookies have lists, newest first: the first signs, every one verifies.
 */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Keys } from '../../identity.ts';
import { randomSecret, type Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

const makers = {
  'access-tokens': async () => JSON.stringify([await makeAccessTokenKey()]),
  cookies: () => JSON.stringify([randomSecret()]),
  'ssh-authority': () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
} satisfies Record<string, () => string | Promise<string>>;

type Name = keyof typeof makers;

const purposeOf = (name: string) => `installation_keys ${name}`;

/** Creates the keys that are missing, and leaves existing ones alone. */
export async function createKeys(tx: Db | Tx, secrets: Secrets): Promise<void> {
  for (const [name, make] of Object.entries(makers)) {
    const sealed = secrets.seal(purposeOf(name), await make());
    await tx
      .insertInto('installation_keys')
      .values({ name, sealed })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

export async function openKeys(db: Db | Tx, secrets: Secrets): Promise<Keys> {
  const rows = await db.selectFrom('installation_keys').select(['name', 'sealed']).where('name', 'in', Object.keys(makers)).execute();
  const sealed = new Map(rows.map((row) => [row.name, row.sealed]));
  const open = (name: Name) => {
    const text = sealed.get(name);
    if (text === undefined) throw new Error(`The installation has no key ${name}; createKeys makes it on the first start.`);
    return secrets.open(purposeOf(name), text);
  };
  return {
    accessTokens: JSON.parse(open('access-tokens')) as JWK[],
    cookies: JSON.parse(open('cookies')) as string[],
    sshAuthority: createPrivateKey(open('ssh-authority')),
  };
}

async function makeAccessTokenKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const key = await exportJWK(privateKey);
  return { ...key, kid: await calculateJwkThumbprint(key), alg: 'ES256', use: 'sig' };
}
