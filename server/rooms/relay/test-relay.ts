/** A relay in a process of its own, until it is killed: `node test-relay.ts <asked>` prints its port. Whoever connects is the one container of the stack. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../config.ts';
import { openLog } from '../../kernel/log.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { openSenders } from './senders.ts';
import { openMailIntake } from './serve-relay.ts';
import { openSmtpEndpoint } from './smtp-endpoint.ts';

export interface Asked {
  databaseUrl: string;
  /** The secret key, in hexadecimal. */
  key: string;
  stackId: string;
}

if (import.meta.main) {
  const { databaseUrl, key, stackId } = JSON.parse(process.argv[2] ?? '') as Asked;
  const config = readConfig({});
  const platform = {
    config,
    db: openDatabase(openPool(databaseUrl)),
    log: openLog('fatal'),
    secrets: openSecrets([Buffer.from(key, 'hex')]),
  } as Partial<Platform> as Platform;
  const containerAt = async () => ({ name: `${stackId}-app-shop-1-0`, network: stackId });
  const { server } = openSmtpEndpoint({
    intake: openMailIntake(platform, openSenders(platform.db, { containerAt })),
    limits: config.relay.limits,
    name: 'relay',
    log: platform.log,
    isFromContainers: () => true,
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  console.log((server.address() as AddressInfo).port);
}
