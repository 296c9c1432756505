/** A process that sends deliveries until it is killed: `node test-sender.ts <asked>`. */
import { openOutbound } from '../../drivers/outbound/outbound.ts';
import { deliveryKind } from '../../kernel/delivery.ts';
import { openLog } from '../../kernel/log.ts';
import { openNotices } from '../../kernel/notices.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { sendRequest } from './send-request.ts';
import { startDeliveries } from './start-deliveries.ts';

export interface Asked {
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
}

/** To a receiver of the test's own. */
export const testPost = deliveryKind<{ url: string; text: string }>({
  kind: 'test post',
  send: ({ outbound }, { url, text }, { id, signal }) =>
    sendRequest(outbound, { url, method: 'POST', headers: { 'x-delivery': id }, body: text, signal }),
});

if (import.meta.main) {
  const { databaseUrl, key } = JSON.parse(process.argv[2] ?? '') as Asked;
  const log = openLog('fatal');
  const platform = {
    db: openDatabase(openPool(databaseUrl)),
    log,
    secrets: openSecrets([Buffer.from(key, 'hex')]),
    notices: await openNotices(databaseUrl, log),
    outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }),
  } as Partial<Platform> as Platform;
  startDeliveries([testPost], platform, { leaseSeconds: 1 });
}
