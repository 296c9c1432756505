/** Operator commands: what the person who runs the machine can do without a token. They work beside a running platform and without one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { passwordCharactersMax, passwordCharactersMin, readConfig } from '../server/config.ts';
import { Problem } from '../server/kernel/problem.ts';
import { randomSecret } from '../server/kernel/secrets.ts';
import type { Db } from '../server/kernel/sql.ts';
import { endWithSentence } from '../server/process.ts';
import { setUsersMax } from '../server/rooms/organizations/public.ts';
import { hashPassword, removeSecondFactor, signOutEverywhere } from '../server/rooms/sign-in/public.ts';
import { openSessions } from '../server/rooms/ssh/public.ts';
import { changeUser, createApiToken, insertUser, isEmail, isUsername, userByEmail, usersByAge } from '../server/rooms/users/public.ts';
import { showAuthority } from './authority.ts';
import { backUpThePlatform, listBackups, repairBackups, showKey, verifyBackups } from './backup.ts';
import { exportBackup, importBackup } from './backup-file.ts';
import { writeClientConfiguration } from './client-config.ts';
import { withDatabase, withNewDatabase } from './database.ts';
import { listDeployments, rollBack } from './deployments.ts';
import { buildImages, collectImages, listImages, updateImages } from './image.ts';
import { changeQuota, quotaLines } from './quota.ts';
import { restorePlatform } from './restore-platform.ts';
import { writeSchema } from './schema.ts';
import { install } from './service/install.ts';
import { ownFolder } from './service/program.ts';
import { thisMachine } from './service/service.ts';
import { uninstall } from './service/uninstall.ts';
import { takeBackUpgrade, upgrade } from './service/upgrade.ts';
import { shutDown } from './shutdown.ts';
import { readArguments, refuseSurplus, usage, WrongUsage, type Arguments } from './usage.ts';

type Command = (given: Arguments) => Promise<void>;

const commands: Record<string, Command> = {
  // This works before the platform was ever started, too.
  'user create': ({ words: [email = ''], flags }) =>
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
    }),

  'user password': ({ words: [email = ''], flags }) =>
    operate(async (db) => {
      const user = await known(db, email);
      const password = newPassword(flags);
      const password_hash = await hashPassword(password);
      await db.transaction().execute(async (tx) => {
        await changeUser(tx, user.id, { password_hash });
        await signOutEverywhere(tx, user.id);
      });
      console.log(`${email} was signed out everywhere${flags['password-stdin'] ? '.' : ` and has the password ${password}`}`);
    }),

  'user mfa-off': ({ words: [email = ''] }) =>
    operate(async (db) => {
      const removed = await removeSecondFactor(db, (await known(db, email)).id);
      console.log(removed ? `${email} signs in with the password alone now.` : `${email} has no two-factor authentication.`);
    }),

  'user list': () =>
    operate(async (db) => {
      for (const { email, username, is_operator, deactivated, created_at } of await usersByAge(db, usersMax)) {
        const marks = [...(is_operator ? ['operator'] : []), ...(deactivated ? ['deactivated'] : [])];
        console.log([email, username, created_at.slice(0, 10), ...marks].join('  '));
      }
    }),

  'token create': ({ words: [email = '', name = newTokenName()] }) =>
    operate(async (db) => {
      const { token } = await createApiToken(db, await known(db, email), { name });
      console.log(token);
    }),

  'cli-config': ({ words }) => writeClientConfiguration(words),
  ca: showAuthority,

  'organization limit': ({ words: [name = '', users = ''] }) =>
    operate(async (db) => {
      if (users !== 'none' && !/^[1-9]\d{0,6}$/.test(users)) {
        throw new Problem('invalid-request', 'Give a name and a number: ./offshoot organization limit acme 50');
      }
      const organization = await setUsersMax(db, `name=${name}`, users === 'none' ? null : Number(users));
      if (!organization) throw new Problem('not-found', `There is no organization ${name}.`);
      console.log(
        `${organization.label} may have ${users === 'none' ? 'as many users as it likes' : users === '1' ? 'one user' : `${users} users`}.`,
      );
    }),

  'quota set': ({ words }) => operate(async (db) => console.log(await changeQuota(db, words))),
  'quota list': () =>
    operate(async (db) => {
      for (const line of await quotaLines(db)) console.log(line);
    }),

  'deployment list': ({ words }) => listDeployments(words),
  rollback: ({ words }) => rollBack(words),

  'backup list': ({ words }) => listBackups(words),
  'backup verify': ({ words }) => verifyBackups(words),
  'backup repair': ({ words }) => repairBackups(words),
  'backup export': ({ words }) => exportBackup(words),
  'backup import': ({ words, flags }) => importBackup(words, flags, standardInput),
  'backup platform': ({ flags }) => backUpThePlatform(flags.to),
  'backup key': showKey,
  'restore platform': ({ flags }) => restorePlatform({ from: flags.from, backup: flags.backup, keyFromInput: flags['key-stdin'] ?? false }),

  'image list': listImages,
  'image build': ({ words }) => buildImages(words),
  'image update': updateImages,
  'image collect': collectImages,

  shutdown: () => shutDown(readConfig(process.env)),
  sessions: () =>
    operate(async (db) => {
      for (const { email, project_id, environment_id, runs, instance, address, started_at } of await openSessions(db, sessionsMax))
        console.log([started_at.slice(0, 19), email, project_id, environment_id, `${runs}:${instance}`, address].join('  '));
    }),

  install: () => install(thisMachine, ownFolder, process.env),
  upgrade: ({ words: [folder], flags }) => {
    if (folder !== undefined)
      throw new Problem('not-found', `There is no Offshoot in ${folder}; give the folder of a checkout or a release.`);
    return flags.back ? takeBackUpgrade(thisMachine, flags.yes ?? false) : upgrade(thisMachine, ownFolder);
  },
  uninstall: ({ flags }) => uninstall(thisMachine, { withData: flags.data ?? false, isSure: flags.yes ?? false }),

  schema: () => writeSchema(join(import.meta.dirname, '..', 'server')),
};

/** Names of a user's tokens differ: whoever gives none may ask for a token more than once. */
const newTokenName = () => `Operator ${new Date().toISOString()}`;

const standardInput = () => readFileSync(0, 'utf8');
const usersMax = 10_000;
const sessionsMax = 10_000;

const operate = (work: (db: Db) => Promise<void>) => withDatabase(readConfig(process.env), work);

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

async function main(argv: string[]) {
  const { flags, words } = readArguments(argv);
  if (flags.help) return console.log(usage);
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const given = { words: words.slice(length), flags };
    const command = commands[name];
    if (!command) continue;
    refuseSurplus(name, given);
    return command(given);
  }
  console.error(usage);
  throw new WrongUsage(words.length === 0 ? 'Say what to do.' : `There is no command ${words.slice(0, 2).join(' ')}.`);
}

const wrongUsageCode = 2;

await main(process.argv.slice(2)).catch((error: Error) => {
  if (!(error instanceof WrongUsage)) return endWithSentence(error);
  console.error(`offshoot: ${error.message}`);
  process.exitCode = wrongUsageCode;
});
