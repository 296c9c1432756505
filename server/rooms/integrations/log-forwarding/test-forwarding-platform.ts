/** As much of a platform as forwards logs, in a process of its own, to be killed: `node test-forwarding-platform.ts <asked>`. */
import { readConfig } from '../../../config.ts';
import { openLog } from '../../../kernel/log.ts';
import { openNotices } from '../../../kernel/notices.ts';
import { startReconcilers } from '../../../kernel/reconciler.ts';
import { openSecrets } from '../../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { forwardLogs } from './forward-logs.ts';

export interface Asked {
  data: string;
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
}

if (import.meta.main) {
  // When the parent process ends, this one ends, too.
  process.stdin.once('end', () => process.exit()).resume();
  const { data, databaseUrl, key } = JSON.parse(process.argv[2] ?? '') as Asked;
  const log = openLog('fatal');
  const platform = {
    config: readConfig({ OFFSHOOT_DATA: data, OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8', OFFSHOOT_TLS: 'off' }),
    db: openDatabase(openPool(databaseUrl)),
    log,
    secrets: openSecrets([Buffer.from(key, 'hex')]),
    notices: await openNotices(databaseUrl, log),
  } as Partial<Platform> as Platform;
  startReconcilers([forwardLogs], platform);
}
