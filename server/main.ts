/** The control plane: `./offshoot start`. Composition root; reads as the architecture. */
import { join } from 'node:path';
import { readConfig } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import { openMail } from './drivers/mail/mail.ts';
import { openPhone } from './drivers/phone/phone.ts';
import { openEmbeddedPostgres } from './drivers/postgres/embedded.ts';
import { ensureInstalled, showFirstCredentials } from './installation.ts';
import { serveApi } from './kernel/http.ts';
import { openLog } from './kernel/log.ts';
import { migrate } from './kernel/migrate.ts';
import { openSecrets } from './kernel/secrets.ts';
import { openDatabase, openPool } from './kernel/sql.ts';
import { openPlatform } from './platform.ts';
import { endWithSentence, stopOnSignal } from './process.ts';
import { rooms } from './rooms.ts';

process.on('uncaughtException', endWithSentence);
const closings = stopOnSignal();

const config = readConfig(process.env);
const log = openLog(config.logLevel);

const data = openDataFolder(config.data);
closings.push(() => data.close());
const secrets = openSecrets(config.secretKeys ?? data.secretKeys());

const postgres = config.databaseUrl === undefined ? await openEmbeddedPostgres(join(data.path, 'postgres')) : undefined;
closings.push(() => postgres?.stop());
void postgres?.exited.then((sentence) => endWithSentence(new Error(sentence)));

const pool = openPool(config.databaseUrl ?? postgres?.url ?? '');
await migrate(pool, join(import.meta.dirname, 'migrations'));
const db = openDatabase(pool);
closings.push(() => db.destroy());
await ensureInstalled(db, secrets, config.admin);

const mail = openMail(config.mail, join(data.path, 'mail'), log);
const phone = openPhone(config.phone.webhookUrl, join(data.path, 'phone'), log);
const platform = await openPlatform({ config, db, log, secrets, mail, phone });
const api = await serveApi(rooms, platform);
closings.push(() => api.close());
await api.listen({ host: config.host, port: config.port });

await showFirstCredentials(db, secrets, (line) => console.log(line));
console.log(`Offshoot is ready at ${config.url} (${process.uptime().toFixed(1)} s).`);
/** From here on it is a bug, and deserves its stack trace. */
process.off('uncaughtException', endWithSentence);
