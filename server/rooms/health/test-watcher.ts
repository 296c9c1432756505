/** A process that looks at environments once, and is killed as it seals the delivery of that number: `node test-watcher.ts <asked>`. */
import { kill } from 'node:process';
import { openLog } from '../../kernel/log.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { noticeFailures } from './watch-health.ts';

export interface Asked {
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
  killedAt: number;
}

if (import.meta.main) {
  const { databaseUrl, key, killedAt } = JSON.parse(process.argv[2] ?? '') as Asked;
  const secrets = openSecrets([Buffer.from(key, 'hex')]);
  let sealed = 0;
  const seal: typeof secrets.seal = (...words) => {
    sealed += 1;
    if (sealed === killedAt) kill(process.pid, 'SIGKILL');
    return secrets.seal(...words);
  };
  const platform = {
    db: openDatabase(openPool(databaseUrl)),
    log: openLog('fatal'),
    secrets: { ...secrets, seal },
    config: { url: 'https://offshoot.example' },
  } as Partial<Platform> as Platform;
  await noticeFailures.run(platform, new AbortController().signal);
  process.exit();
}
