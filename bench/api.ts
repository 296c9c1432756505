/**
 * What the kernel costs: `GET /users/me` against a bare Fastify route that does the same single named query, and against one without any
 * database, side by side in one run. Machines are noisy, so only the ratios count: the rounds alternate and the median of each is taken.
 */
import autocannon from 'autocannon';
import fastify from 'fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { readConfig } from '../server/config.ts';
import { openEmbeddedPostgres } from '../server/drivers/postgres/embedded.ts';
import { serveApi } from '../server/kernel/http.ts';
import { openLog } from '../server/kernel/log.ts';
import { migrate } from '../server/kernel/migrate.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { openDatabase, openPool } from '../server/kernel/sql.ts';
import { openPlatform } from '../server/platform.ts';
import { rooms } from '../server/rooms.ts';
import { createKeys } from '../server/rooms/sign-in/room.ts';
import { createApiToken, insertUser } from '../server/rooms/users/room.ts';

const rounds = 5;
const roundSeconds = 3;
const connections = 64;
const sharesMin = { 'one named query': 0.7, 'no database': 0.4 };

const scratch = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
const postgres = await openEmbeddedPostgres(join(scratch, 'postgres'));
const pool = openPool(postgres.url);
await migrate(pool, join(import.meta.dirname, '..', 'server', 'migrations'));
const db = openDatabase(pool);
const secrets = openSecrets([randomBytes(32)]);
await db.transaction().execute((tx) => createKeys(tx, secrets));
const platform = await openPlatform({ config: readConfig({}), db, log: openLog('info'), secrets });
const user = await insertUser(db, { email: 'ada@example.org', username: 'ada' });
const { token: apiToken = '' } = await createApiToken(db, user, 'bench');

const api = await serveApi(rooms, platform);
const { access_token } = (
  await api.inject({
    method: 'POST',
    url: '/oauth2/token',
    payload: { client_id: 'platform-cli', grant_type: 'api_token', api_token: apiToken },
  })
).json();
const headers = { authorization: `Bearer ${access_token}` };

/** The anchors are Fastify at its best: a compiled serialiser, and no links to write. */
const { _links, ...body } = (await api.inject({ url: '/users/me', headers })).json<{ _links: { self: { meta: object } } }>();
const schema = { response: { 200: _links.self.meta } };

const withoutDatabase = fastify();
withoutDatabase.get('/users/me', { schema }, async () => body);

const withQuery = fastify();
withQuery.get('/users/me', { schema }, async () => {
  const { rows } = await pool.query('select * from users where id = $1', [user.id]);
  return rows[0];
});

const contestants = { 'GET /users/me': api, 'one named query': withQuery, 'no database': withoutDatabase };
const urls = Object.fromEntries(
  await Promise.all(
    Object.entries(contestants).map(
      async ([name, http]) => [name, `${await http.listen({ host: '127.0.0.1', port: 0 })}/users/me`] as const,
    ),
  ),
);

const rates: Record<string, number[]> = {};
for (let round = 0; round <= rounds; round += 1) {
  for (const [name, url] of Object.entries(urls)) {
    const { requests, non2xx } = await autocannon({ url, connections, duration: roundSeconds, headers, workers: 1 });
    if (non2xx > 0) throw new Error(`${name}: ${non2xx} replies were not 2xx`);
    if (round > 0) (rates[name] ??= []).push(requests.average);
  }
}

const median = (values: number[] = []) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const own = median(rates['GET /users/me']);
console.log(`GET /users/me    ${Math.round(own)} requests a second`);
for (const [anchor, shareMin] of Object.entries(sharesMin)) {
  const share = own / median(rates[anchor]);
  const verdict = share >= shareMin ? 'ok' : 'TOO SLOW';
  console.log(
    `${anchor.padEnd(16)} ${Math.round(median(rates[anchor]))} requests a second; ours is ${share.toFixed(2)} of it (at least ${shareMin}): ${verdict}`,
  );
  if (share < shareMin) process.exitCode = 1;
}

await Promise.all(Object.values(contestants).map((http) => http.close()));
await db.destroy();
await postgres.stop();
await rm(scratch, { recursive: true });
