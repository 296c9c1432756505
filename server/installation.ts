/**
 * What exists from the first start on: the keys of the installation and its administrator, made together in one transaction, so that a
 * kill at any moment leaves all or nothing. There is no other way to become the first user: no page, no window, no default password.
 */
import type { Config } from './config.ts';
import { randomSecret, type Secrets } from './kernel/secrets.ts';
import type { Db } from './kernel/sql.ts';
import { createKeys, hashPassword } from './rooms/sign-in/public.ts';
import { createApiToken, insertUser } from './rooms/users/public.ts';

interface FirstCredentials {
  email: string;
  /** Absent where the operator chose the password: what they know is not printed. */
  password?: string;
  api_token?: string;
}

const sealedFor = 'installation.first_credentials';
const passwordBytes = 15;

export async function ensureInstalled(db: Db, secrets: Secrets, admin: Config['admin']): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const fresh = await tx
      .insertInto('installation')
      .defaultValues()
      .onConflict((conflict) => conflict.doNothing())
      .returning('only_one')
      .executeTakeFirst();
    if (!fresh) return;
    await createKeys(tx, secrets);
    const password = admin.password ?? randomSecret(passwordBytes);
    const apiToken = admin.apiToken ?? randomSecret();
    const user = await insertUser(tx, {
      email: admin.email,
      email_verified: true,
      username: 'admin',
      is_operator: true,
      password_hash: await hashPassword(password),
    });
    await createApiToken(tx, user, { name: 'First start', secret: apiToken });
    const credentials: FirstCredentials = {
      email: admin.email,
      ...(admin.password === undefined && { password }),
      ...(admin.apiToken === undefined && { api_token: apiToken }),
    };
    await tx
      .updateTable('installation')
      .set({ first_credentials: secrets.seal(sealedFor, JSON.stringify(credentials)) })
      .execute();
  });
}

/** Prints the first credentials once. They are forgotten only after printing: a kill in between prints them again on the next start. */
export async function showFirstCredentials(
  db: Db,
  secrets: Secrets,
  { tls }: Pick<Config, 'tls'>,
  print: (line: string) => void,
): Promise<void> {
  const { first_credentials } = await db.selectFrom('installation').select('first_credentials').executeTakeFirstOrThrow();
  if (first_credentials === null) return;
  const { email, password, api_token } = JSON.parse(secrets.open(sealedFor, first_credentials)) as FirstCredentials;
  print('The administrator of this installation (shown this once):');
  print(`  e-mail     ${email}`);
  print(`  password   ${password ?? '(as set in OFFSHOOT_ADMIN_PASSWORD)'}`);
  print(`  API token  ${api_token ?? '(as set in OFFSHOOT_ADMIN_API_TOKEN)'}`);
  print('To use it with the released client: ./offshoot cli-config');
  if (tls) print('For browsers and other programs to trust it: ./offshoot ca');
  print('');
  await db.updateTable('installation').set({ first_credentials: null }).execute();
}
