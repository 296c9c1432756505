/**
 * What the kernel costs: `GET /users/me` against a bare Fastify route that does the same single named query, and against one without any
 * database, side by side in one run. Machines are noisy, so only the ratios count: the rounds alternate and the median of each is taken. Beside each rate stands the
 * time that the thread of the server spends on a request; what else runs on the machine changes that least.
 */
import autocannon from 'autocannon';
import fastify from 'fastify';
import { median, openMeasuredPlatform } from './harness/platform.ts';

const rounds = 5;
const roundSeconds = 3;
const connections = 64;
/** Node compiles what has run often: so many requests come before those that are measured, however few seconds a busy machine leaves for them. */
const warmUpRequests = 20_000;
const sharesMin = { 'one named query': 0.7, 'no database': 0.45 };

const { api, pool, user, headers, close } = await openMeasuredPlatform();

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
/** In microseconds of this thread for a request. The requests are made by another one. */
const costs: Record<string, number[]> = {};
for (let round = 0; round <= rounds; round += 1) {
  for (const [name, url] of Object.entries(urls)) {
    const before = process.threadCpuUsage();
    const length = round === 0 ? { amount: warmUpRequests } : { duration: roundSeconds };
    const { requests, non2xx } = await autocannon({ url, connections, ...length, headers, workers: 1 });
    const { user: inUser, system: inSystem } = process.threadCpuUsage(before);
    if (non2xx > 0) throw new Error(`${name}: ${non2xx} replies were not 2xx`);
    if (round === 0) continue;
    (rates[name] ??= []).push(requests.average);
    (costs[name] ??= []).push((inUser + inSystem) / requests.total);
  }
}

const own = median(rates['GET /users/me']);
console.log(`GET /users/me    ${Math.round(own)} requests a second`);
const taken = Object.entries(costs).map(([name, its]) => `${name} ${median(its).toFixed(1)} us`);
console.log(`a request takes of the server's thread: ${taken.join(', ')}`);
for (const [anchor, shareMin] of Object.entries(sharesMin)) {
  const share = own / median(rates[anchor]);
  const verdict = share >= shareMin ? 'ok' : 'TOO SLOW';
  console.log(
    `${anchor.padEnd(16)} ${Math.round(median(rates[anchor]))} requests a second; ours is ${share.toFixed(2)} of it (at least ${shareMin}): ${verdict}`,
  );
  if (share < shareMin) process.exitCode = 1;
}

await Promise.all([withoutDatabase.close(), withQuery.close()]);
await close();
