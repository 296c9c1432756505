/** For commands that seal something, such as a letter that waits to be sent. */
import { readConfig, type Config } from '../server/config.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import type { Db } from '../server/kernel/sql.ts';
import { secretKeysOf } from './backup.ts';
import { withDatabase } from './database.ts';

export function withSecrets(work: (platform: { db: Db; config: Config; secrets: Secrets }) => Promise<void>) {
  const config = readConfig(process.env);
  return withDatabase(config, (db) => work({ db, config, secrets: openSecrets(secretKeysOf(config)) }));
}
