/**
 * Ten thousand domains with certificates, beside ten: what a new connection with its first request costs the edge, and how much memory it takes; whether
 * visitors notice changes of the table; and on a whole platform that has as many, how soon a domain that is added answers with its certificate. Needs root.
 */
import { Agent, get, type RequestOptions } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { secretKeysOf } from '../cli/backup.ts';
import { withPlainDatabase } from '../cli/database.ts';
import { send } from '../e2e/api.ts';
import { eventually } from '../e2e/eventually.ts';
import { createInstallation, type Installation } from '../e2e/installation.ts';
import { firstPerson, openProject, type Project } from '../e2e/open-project.ts';
import { startApplication } from '../edge/testing/application.ts';
import { freePort } from '../edge/testing/ports.ts';
import { environmentWith, startRunningEdge } from '../edge/testing/running-edge.ts';
import type { Instance } from '../edge/routing/table.ts';
import { readConfig } from '../server/config.ts';
import { forEachAtMost } from '../server/kernel/limits.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { certificatePurpose } from '../server/rooms/certificates/queries.ts';
import { openDomains, type Domain } from './harness/many-domains.ts';
import { median } from './harness/platform.ts';
import { processorSeconds, residentBytes } from './harness/proxies.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const [few, many, hostsPerEnvironment] = [10, 10_000, 10];
const rounds = 5;
const visitsPerRound = 400;
const changes = 200;
const toldAtOnce = 8;
const secondsMax = 1;

const domains = await openDomains();

/** What a visitor gets who trusts the authority of these domains and no other. */
function visit(port: number, host: string, options: RequestOptions = { agent: false }): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, servername: host, ca: domains.authority, headers: { host }, ...options }, (reply) => {
      let body = '';
      reply.setEncoding('utf8').on('data', (text: string) => (body += text));
      reply.on('end', () => resolve(`${reply.statusCode} ${body}`)).on('error', reject);
    }).on('error', reject);
  });
}

async function visitEach(port: number, hosts: readonly string[], count = hosts.length) {
  for (let nth = 0; nth < count; nth += 1) {
    const said = await visit(port, hosts[nth % hosts.length] ?? '');
    if (said !== '200 one') throw new Error(`A visitor got ${said}`);
  }
}

/** Visits the host again and again, on one connection that is kept and on new ones; answers with how many there were, and what went wrong. */
function keepVisiting(port: number, host: string, expected: string) {
  const stopping = new AbortController();
  const failures: string[] = [];
  let count = 0;
  const visitor = async (options: RequestOptions) => {
    while (!stopping.signal.aborted) {
      const said = await visit(port, host, options).catch(String);
      count += 1;
      if (said !== expected) failures.push(said);
    }
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const visitors = [visitor({ agent: false }), visitor({ agent: kept })];
  return async () => {
    stopping.abort();
    await Promise.all(visitors);
    kept.destroy();
    return { count, failures };
  };
}

function noteFailures(what: string, { count, failures }: { count: number; failures: string[] }) {
  note({
    what,
    measured: `${failures.length} of ${count} failed ${failures[0] ?? ''}`,
    target: 'none',
    isMet: failures.length === 0 && count > 0,
  });
}

const environmentAt = (nth: number, version: number, hosts: readonly Domain[], instance: Instance) => {
  const environment = environmentWith(`site-${nth}`, version, [instance]);
  const routes = hosts.flatMap(({ host }) =>
    environment.routes.map((route) => ({ ...route, scheme: 'https' as const, original_url: `https://${host}/`, host })),
  );
  return { ...environment, routes };
};

const certificateAt = ({ host, certificate, key }: Domain, version: number) => ({
  id: host.replaceAll('.', '-'),
  version,
  names: [host],
  certificate,
  chain: [],
  key,
});

/** An edge that has been told of these domains: ten for each environment. */
async function startFull(all: readonly Domain[], instance: Instance) {
  const port = await freePort();
  const running = await startRunningEdge({
    listeners: [
      { host: '127.0.0.1', port: await freePort(), scheme: 'http' },
      { host: '127.0.0.1', port, scheme: 'https' },
    ],
  });
  const told = await timed(async () => {
    for (let nth = 0; nth * hostsPerEnvironment < all.length; nth += 1) {
      const hosts = all.slice(nth * hostsPerEnvironment, (nth + 1) * hostsPerEnvironment);
      await running.edge.put(environmentAt(nth, 1, hosts, instance));
    }
    await forEachAtMost(toldAtOnce, [...all], (domain) => running.edge.putCertificate(certificateAt(domain, 1)));
  });
  const { pid } = await running.edge.status();
  return { running, port, pid, told };
}

type FullEdge = Awaited<ReturnType<typeof startFull>>;

/** Microseconds of the edge's processors for a new connection and its first request. */
async function costOf({ port, pid }: FullEdge, hosts: readonly string[], count: number): Promise<number> {
  const before = processorSeconds({ pid });
  await visitEach(port, hosts, count);
  return ((processorSeconds({ pid }) - before) * 1e6) / count;
}

async function measureLookup(small: FullEdge, full: FullEdge, all: readonly string[]) {
  const hot = all.slice(0, few);
  for (const { port } of [small, full]) await visitEach(port, hot, visitsPerRound);
  const costs: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    costs[0].push(await costOf(small, hot, visitsPerRound));
    costs[1].push(await costOf(full, hot, visitsPerRound));
  }
  const [ofFew, ofMany] = [median(costs[0]), median(costs[1])];
  const measured = `${(ofMany / ofFew).toFixed(2)} (${ofMany.toFixed(0)} and ${ofFew.toFixed(0)} us of processor)`;
  note({
    what: `a new connection and its first request among ${many} domains, beside ${few}`,
    measured,
    target: 'at most 1.2',
    isMet: ofMany / ofFew <= 1.2,
  });
  const cold = await costOf(full, all.slice(few), visitsPerRound);
  note({ what: 'the same at a domain that nobody has visited yet', measured: `${cold.toFixed(0)} us of processor` });
}

const megabytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;

async function measureMemory(small: FullEdge, full: FullEdge, all: readonly string[]) {
  const [ofFew, ofMany] = [residentBytes(small), residentBytes(full)];
  const each = ((ofMany - ofFew) / (many - few) / 1024).toFixed(1);
  const told = `told in ${full.told.toFixed(1)} s`;
  note({
    what: `memory of the edge with ${many} domains`,
    measured: `${megabytes(ofMany)}, ${each} KiB for each (${megabytes(ofFew)} with ${few}); ${told}`,
  });
  await visitEach(full.port, all.slice(-many / 4));
  note({ what: `the same after ${many / 4} of them were visited`, measured: megabytes(residentBytes(full)) });
}

/** Certificates are swapped, among them that of the visited host, and environments told anew. */
async function measureChanges({ running, port }: FullEdge, all: readonly Domain[], instance: Instance) {
  const stop = keepVisiting(port, all[0]?.host ?? '', '200 one');
  for (let nth = 0; nth < changes; nth += 1) {
    const [visited, other] = [all[0], all[nth * hostsPerEnvironment]];
    if (!visited || !other) break;
    await running.edge.putCertificate(certificateAt(visited, nth + 2));
    await running.edge.putCertificate(certificateAt(other, nth + 2));
    await running.edge.put(environmentAt(0, nth + 2, all.slice(0, hostsPerEnvironment), instance));
  }
  noteFailures(`visits during ${changes * 3} changes of the table`, await stop());
}

async function measureEdge(all: readonly Domain[]) {
  await using application = await startApplication('one');
  const { instance } = application;
  const [small, full] = [await startFull(all.slice(0, few), instance), await startFull(all, instance)];
  await using _small = small.running;
  await using _full = full.running;
  const hosts = all.map(({ host }) => host);
  await measureMemory(small, full, hosts);
  await measureLookup(small, full, hosts);
  await measureChanges(full, all, instance);
}

const files = {
  '.upsun/config.yaml': `
applications:
  site: {type: 'static:1', web: {locations: {/: {root: public, index: [index.html]}}}}
routes:
  https://{all}/: {type: upstream, upstream: 'site:http'}
`,
  'public/index.html': 'one',
};

/** Writes the domains down as those of a project, served and with their certificates. */
async function fill({ data }: Installation, project: string, all: readonly Domain[]) {
  const config = readConfig({ OFFSHOOT_DATA: data });
  const secrets = openSecrets(secretKeysOf(config));
  const ids = all.map((_, nth) => `many${String(nth).padStart(6, '0')}`);
  const keys = all.map(({ key }, nth) => secrets.seal(certificatePurpose(ids[nth] ?? ''), key));
  const hosts = all.map(({ host }) => host);
  await withPlainDatabase(config, async (pool) => {
    await pool.query(
      `insert into hosts (host, project_id, environment_id) select host, $1, 'main' from unnest($2::text[]) as many (host)`,
      [project, hosts],
    );
    await pool.query(
      `insert into certificates (id, project_id, certificate, key_sealed, names, serves, expires_at)
       select id, $1, certificate, key, array[host], array[host], now() + interval '300 days'
       from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as many (id, certificate, key, host)`,
      [project, ids, all.map(({ certificate }) => certificate), keys, hosts],
    );
  });
}

/** Seconds from the call of the API until a visitor is answered by the domain, with the certificate that came along. */
async function secondsUntilServed(shop: Project, accessToken: string, { url, httpsPort }: Installation, domain: Domain): Promise<number> {
  const { host, certificate, key } = domain;
  const body = { name: host, ssl: { certificate, key, chain: [domains.authority] } };
  return timed(async () => {
    const { status, json } = await send(url, accessToken, 'POST', `/projects/${shop.project}/domains`, body);
    if (status >= 300) throw new Error(`The domain was refused: ${JSON.stringify(json)}`);
    const answers = async () => (await visit(httpsPort, host).catch(() => '')) === '200 one';
    await eventually(`${host} answers`, answers, 60);
  });
}

async function measurePlatform(all: readonly Domain[]) {
  await using installation = await createInstallation();
  const person = await firstPerson(installation.url, await installation.start());
  const [shop, other] = [await openProject(person), await openProject(person)];
  await shop.write(files, 'A page');
  await shop.push('main');
  const add = async (host: string) => secondsUntilServed(shop, await person.accessToken(), installation, await domains.make(host));
  const [visited, last] = ['visited.bench.example', all.at(-1)?.host ?? ''];
  await add(visited);
  await fill(installation, other.project, all);
  // A project without a deployment: the edge has its certificates, and says that nothing is here.
  const isTold = async () => (await visit(installation.httpsPort, last).catch(() => '')).startsWith('404');
  const told = await timed(() => eventually('the edge has all certificates', isTold, 600));
  note({ what: `the edge of a platform is told of ${all.length} certificates`, measured: `${told.toFixed(1)} s` });
  const stop = keepVisiting(installation.httpsPort, visited, '200 one');
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    seconds.push(await add(`added-${round}.bench.example`));
    await sleep(500);
  }
  noteFailures('visits while domains are added', await stop());
  note({
    what: `a domain that is added to ${many} others answers with its certificate`,
    measured: `${median(seconds).toFixed(2)} s (${seconds.map((each) => each.toFixed(2)).join(', ')})`,
    target: `at most ${secondsMax} s`,
    isMet: median(seconds) <= secondsMax,
  });
}

const made = await domains.makeMany(many, 'many.example');
await measureEdge(made);
await measurePlatform(made);
printTable();
