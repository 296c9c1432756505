/** `./offshoot acme rollover`: other keys for the accounts at authorities (ACME). */
import { readConfig } from '../server/config.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { changeAccountKeys, type ChangedKey } from '../server/rooms/certificates/work.ts';
import { secretKeysOf } from './backup.ts';
import { withDatabase } from './database.ts';

export const rollAccountsOver = () => {
  const config = readConfig(process.env);
  return withDatabase(config, async (db) => {
    const changed = await changeAccountKeys({ config, db, secrets: openSecrets(secretKeysOf(config)) });
    if (changed.length === 0) console.log('There is no account at any authority yet.');
    for (const each of changed) console.log(lineOf(each));
    if (changed.some(({ trouble }) => trouble !== undefined))
      throw new Problem('unavailable', 'Not every account has another key; those that have none can be tried again.');
  });
};

const lineOf = ({ directory, owner, trouble }: ChangedKey) =>
  `${directory}  ${owner === '' ? 'of this installation' : `of the project ${owner}`}  ${trouble === undefined ? 'has another key' : `keeps its key: ${trouble}`}`;
