/** People, for the operator at the machine: their accounts, passwords, second factors and API tokens. */
import { readConfig } from '../server/config.ts';
import { passwordCharactersMax, passwordCharactersMin } from '../server/setting-values.ts';
import { Problem } from '../server/kernel/problem.ts';
import { randomSecret } from '../server/kernel/secrets.ts';
import type { Db } from '../server/kernel/sql.ts';
import { hashPassword, removeSecondFactor, signOutEverywhere } from '../server/rooms/sign-in/public.ts';
import { changeUser, createApiToken, insertUser, isEmail, isUsername, userByEmail, usersByAge } from '../server/rooms/users/public.ts';
import { operate, withNewDatabase } from './database.ts';
import { standardInput, type Arguments } from './usage.ts';

const usersMax = 10_000;

/** This works before the platform was ever started, too. */
export const createUser = ({ words: [email = ''], flags }: Arguments) =>
  withNewDatabase(readConfig(process.env), async (db) => {
    const username = flags.username ?? email.split('@', 1)[0] ?? '';
    if (!isEmail(email)) throw new Problem('invalid-request', 'Give an e-mail address: ./offshoot user create ada@example.org');
    if (!isUsername(username)) throw new Problem('invalid-request', 'This is not a good username; choose one with --username.');
    const password = newPassword(flags);
    await insertUser(db, {
      email: email.toLowerCase(),
      email_verified: true,
      username,
      is_operator: flags.operator ?? false,
      password_hash: await hashPassword(password),
    });
    console.log(`Created ${email}${flags['password-stdin'] ? '' : ` with the password ${password}`}`);
  });

export const changePassword = ({ words: [email = ''], flags }: Arguments) =>
  operate(async (db) => {
    const user = await known(db, email);
    const password = newPassword(flags);
    const password_hash = await hashPassword(password);
    await db.transaction().execute(async (tx) => {
      await changeUser(tx, user.id, { password_hash });
      await signOutEverywhere(tx, user.id);
    });
    console.log(`${email} was signed out everywhere${flags['password-stdin'] ? '.' : ` and has the password ${password}`}`);
  });

export const turnSecondFactorOff = ([email = '']: string[]) =>
  operate(async (db) => {
    const { id } = await known(db, email);
    const removed = await db.transaction().execute((tx) => removeSecondFactor(tx, id));
    console.log(removed ? `${email} signs in with the password alone now.` : `${email} has no two-factor authentication.`);
  });

export const listUsers = () =>
  operate(async (db) => {
    for (const { email, username, is_operator, deactivated, created_at } of await usersByAge(db, usersMax)) {
      const marks = [...(is_operator ? ['operator'] : []), ...(deactivated ? ['deactivated'] : [])];
      console.log([email, username, created_at.slice(0, 10), ...marks].join('  '));
    }
  });

export const createToken = ([email = '', name = newTokenName()]: string[]) =>
  operate(async (db) => {
    const { token } = await createApiToken(db, await known(db, email), { name });
    console.log(token);
  });

/** Names of a user's tokens differ: whoever gives none may ask for a token more than once. */
const newTokenName = () => `Operator ${new Date().toISOString()}`;

async function known(db: Db, email: string) {
  const user = await userByEmail(db, email);
  if (!user) throw new Problem('not-found', `There is no user ${email || 'of that name; give an e-mail address'}.`);
  return user;
}

function newPassword(flags: Arguments['flags']) {
  if (!flags['password-stdin']) return randomSecret(15);
  const given = standardInput().replace(/\r?\n$/, '');
  if (given.length < passwordCharactersMin || given.length > passwordCharactersMax) {
    throw new Problem('invalid-request', `A password has ${passwordCharactersMin} to ${passwordCharactersMax} characters.`);
  }
  return given;
}
