/** Closes months in a process of its own, which is killed at the statement of a number: `node test-closer.ts <asked>`. */
import type { KyselyPlugin } from 'kysely';
import { readConfig } from '../../config.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import { closeMonths } from './close-orders.ts';

export interface Asked {
  databaseUrl: string;
  data: string;
  /** The secret key, in hexadecimal. */
  key: string;
  now: number;
  killedAt: number;
}

if (import.meta.main) {
  const { databaseUrl, data, key, now, killedAt } = JSON.parse(process.argv[2] ?? '') as Asked;
  let executed = 0;
  const killing: KyselyPlugin = {
    transformQuery: ({ node }) => {
      executed += 1;
      if (executed === killedAt) process.kill(process.pid, 'SIGKILL');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const db = openDatabase(openPool(databaseUrl)).withPlugin(killing);
  const config = readConfig({ OFFSHOOT_DATA: data, OFFSHOOT_TLS: 'off', OFFSHOOT_REGION_CARBON_INTENSITY: '50' });
  await closeMonths({ db, config, secrets: openSecrets([Buffer.from(key, 'hex')]) }, now);
  process.exit(0);
}
