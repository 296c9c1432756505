/** The control plane: `./offshoot start`. Composition root; reads as the architecture. */
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { readConfig } from './config.ts';
import { openDataFolder, refuseHalfRestored, shareDataFolder } from './data-folder.ts';
import { blobsFolder, openBlobs } from './drivers/blobs/open-blobs.ts';
import { trustAuthorities } from './drivers/authorities.ts';
import { openGit } from './drivers/git/open-git.ts';
import { openMail } from './drivers/mail/mail.ts';
import { openDuckdbMetrics } from './drivers/metrics/duckdb/open-duckdb-metrics.ts';
import { openPhone } from './drivers/phone/phone.ts';
import { openEmbeddedPostgres, sharedPostgresUrl } from './drivers/postgres/embedded.ts';
import { ensureInstalled, showFirstCredentials } from './installation.ts';
import { serveApi } from './kernel/http.ts';
import { startListeners } from './kernel/listener.ts';
import { openLog } from './kernel/log.ts';
import { migrate } from './kernel/migrate.ts';
import { openNotices } from './kernel/notices.ts';
import { startReconcilers } from './kernel/reconciler.ts';
import { activitiesOf, deliveryKindsOf, listenersOf, reconcilersOf } from './kernel/room.ts';
import { startRunner } from './kernel/runner.ts';
import { openSecrets } from './kernel/secrets.ts';
import { openDatabase, openPool } from './kernel/sql.ts';
import { lazyMachine } from './machine.ts';
import { openPlatform } from './open-platform.ts';
import { endWithSentence, stopOnSignal } from './process.ts';
import { allRoles, readRoles } from './roles.ts';
import { rooms } from './rooms.ts';
import { startDeliveries } from './rooms/deliveries/work.ts';
import { adoptHosts, adoptRoutes } from './rooms/deployments/work.ts';
import { announceApi, openEntrance } from './rooms/entrance/work.ts';
import { followServiceTypes } from './rooms/installation/work.ts';
import { tracesEndpoint } from './rooms/measuring/public.ts';
import { serveSsh } from './rooms/ssh/public.ts';
import { tellReady } from './service-manager.ts';

process.on('uncaughtException', endWithSentence);
const closings = stopOnSignal();

const config = readConfig(process.env);
const roles = readRoles(process.argv.slice(2));
const isWhole = roles.size === allRoles.length;
const log = openLog(config.logLevel);

trustAuthorities(config.caCertificates);

const data = isWhole ? openDataFolder(config.data) : shareDataFolder(config.data);
closings.push(() => data.close());
refuseHalfRestored(data.path);
const secrets = openSecrets(config.secretKeys ?? data.secretKeys());

const postgresFolder = join(data.path, 'postgres');
const onReturn = (sentence: string) => log.error(`${sentence}\nThe database is started again.`);
const postgres = config.databaseUrl === undefined && isWhole ? await openEmbeddedPostgres(postgresFolder, {}, onReturn) : undefined;
closings.push(() => postgres?.stop());
void postgres?.exited.then((sentence) => endWithSentence(new Error(sentence)));

const databaseUrl = config.databaseUrl ?? postgres?.url ?? sharedPostgresUrl(postgresFolder);
const pool = openPool(databaseUrl);
await migrate(pool, join(import.meta.dirname, 'migrations'));
const db = openDatabase(pool);
closings.push(() => db.destroy());
await ensureInstalled(db, secrets, config.admin);
for (const lost of await adoptHosts(db, config))
  log.warn(lost, 'a deployed route is not served, because its environment does not own the host');

const mail = openMail(config.mail, join(data.path, 'mail'), log);
const phone = openPhone(config.phone.webhookUrl, join(data.path, 'phone'), log);
const notices = await openNotices(databaseUrl, log);
closings.push(() => notices.close());
closings.push(await followServiceTypes(db, notices, log));
const git = await openGit(join(data.path, 'repositories'), config);
closings.push(() => git.close());
const blobs = openBlobs({ folder: blobsFolder(data.path), places: config.backups, secrets });
const metrics = openDuckdbMetrics({ folder: join(data.path, 'metrics'), say: (line) => log.warn(line) });
closings.push(() => metrics.close());
const machine = lazyMachine(config, log, tracesEndpoint(config, secrets));
closings.push(() => machine.close());
const platform = await openPlatform({
  config,
  db,
  log,
  secrets,
  mail,
  phone,
  notices,
  git,
  blobs,
  metrics,
  machine: machine.get,
  edge: machine.edge,
  inside: machine.inside,
});
closings.push(() => platform.logs.close());
closings.push(() => platform.changes.close());

const adopted = isWhole ? await adoptRoutes(platform) : 0;
if (adopted > 0) log.info({ environments: adopted }, 'routes were resolved anew for changed settings');

if (roles.has('runner')) {
  const claimed = machine.claim();
  const runner = startRunner(activitiesOf(rooms), platform, { hasMachine: machine.isOurs });
  closings.push(() => runner.close());
  const reconcilers = startReconcilers(reconcilersOf(rooms), platform, machine.isOurs);
  closings.push(() => reconcilers.close());
  void claimed.then(() => reconcilers.onMachineOurs());
  const deliveries = startDeliveries(deliveryKindsOf(rooms), platform);
  closings.push(() => deliveries.close());
  const listeners = startListeners(listenersOf(rooms), platform, machine.opened);
  closings.push(() => listeners.close());
}
if (roles.has('api')) {
  const api = await serveApi(rooms, platform);
  closings.push(() => api.close());
  await api.listen({ host: config.apiHost, port: config.port });
  const announced = await announceApi(platform);
  closings.push(() => announced.close());
  const ssh = await serveSsh(platform, config);
  closings.push(() => ssh.close());
}

/** Where the platform is found: at its address, unless the edge, which ends TLS for it, does not run. */
const wayIn = async () => {
  if (!config.tls || !machine.isOurs()) return config.url;
  try {
    await openEntrance(platform);
    return config.url;
  } catch (error) {
    log.error({ error }, 'the edge does not run; it is tried again');
    return `http://${config.apiHost}:${config.port}, and at ${config.url} once the edge runs`;
  }
};
const foundAt = await wayIn();
await showFirstCredentials(db, secrets, config, (line) => console.log(line));
const ready = `Offshoot is ready ${roles.has('api') ? `at ${foundAt}` : 'to work'} (${process.uptime().toFixed(1)} s).`;
console.log(ready);
await tellReady(ready);
/** The platform has started: an exception from here on is a bug, and deserves its stack trace. */
process.off('uncaughtException', endWithSentence);
// Node writes its compile cache only when it ends in order. It is written now, so that the next start is as quick after a kill or a power failure.
flushCompileCache();
