/** A platform to measure: every room on a PostgreSQL of its own, and one person signed in. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../server/config.ts';
import { blobsFolder, openBlobs } from '../../server/drivers/blobs/open-blobs.ts';
import { openGit } from '../../server/drivers/git/open-git.ts';
import { openMail } from '../../server/drivers/mail/mail.ts';
import { openDuckdbMetrics, type DuckdbMetricsOptions } from '../../server/drivers/metrics/duckdb/open-duckdb-metrics.ts';
import { openPhone } from '../../server/drivers/phone/phone.ts';
import { openEmbeddedPostgres } from '../../server/drivers/postgres/embedded.ts';
import { serveApi } from '../../server/kernel/http.ts';
import { openLog } from '../../server/kernel/log.ts';
import { migrate } from '../../server/kernel/migrate.ts';
import { openNotices } from '../../server/kernel/notices.ts';
import { openSecrets } from '../../server/kernel/secrets.ts';
import { openDatabase, openPool } from '../../server/kernel/sql.ts';
import { openPlatform } from '../../server/open-platform.ts';
import { rooms } from '../../server/rooms.ts';
import { createKeys } from '../../server/rooms/sign-in/public.ts';
import { createApiToken, insertUser } from '../../server/rooms/users/public.ts';

/** `measurements`: where they are kept and how, if not in an empty folder. */
export async function openMeasuredPlatform(measurements: Partial<DuckdbMetricsOptions> = {}, settings: Record<string, string> = {}) {
  const scratch = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
  const postgres = await openEmbeddedPostgres(join(scratch, 'postgres'));
  const pool = openPool(postgres.url);
  await migrate(pool, join(import.meta.dirname, '..', '..', 'server', 'migrations'));
  const db = openDatabase(pool);
  const secrets = openSecrets([randomBytes(32)]);
  await db.transaction().execute((tx) => createKeys(tx, secrets));
  const [config, log] = [readConfig({ OFFSHOOT_DATA: scratch, OFFSHOOT_TLS: 'off', ...settings }), openLog('info', { write: () => {} })];
  const mail = openMail(config.mail, join(scratch, 'mail'), log);
  const phone = openPhone(config.phone.webhookUrl, join(scratch, 'phone'), log);
  const notices = await openNotices(postgres.url, log);
  const git = await openGit(join(scratch, 'repositories'), config);
  const machine = () => Promise.reject(new Error('Nothing runs in this measurement'));
  const blobs = openBlobs({ folder: blobsFolder(scratch), places: config.backups, secrets });
  const metrics = openDuckdbMetrics({ folder: join(scratch, 'metrics'), ...measurements });
  const platform = await openPlatform({ config, db, log, secrets, mail, phone, notices, git, blobs, metrics, machine });
  const api = await serveApi(rooms, platform);

  const user = await insertUser(db, { email: 'ada@example.org', username: 'ada' });
  const { token: api_token = '' } = await createApiToken(db, user, { name: 'bench' });
  const payload = { client_id: 'platform-cli', grant_type: 'api_token', api_token };
  const { access_token } = (await api.inject({ method: 'POST', url: '/oauth2/token', payload })).json<{ access_token: string }>();
  const headers = { authorization: `Bearer ${access_token}` };

  const close = async () => {
    await api.close();
    platform.logs.close();
    platform.changes.close();
    await metrics.close();
    await git.close();
    await notices.close();
    await db.destroy();
    await postgres.stop();
    await rm(scratch, { recursive: true });
  };
  return { api, platform, pool, db, user, headers, close };
}

/** The middle one. */
export const median = (values: readonly number[] = []) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
