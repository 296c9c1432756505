/**
 * What it takes to wake a preview, on a whole platform: from a request to an environment that sleeps (Node.js and PostgreSQL) to its reply, against
 * containers of the same images that are only started, one after the other as they need each other, turn by turn in one run. And what many that sleep
 * cost: processes, and processor time of the platform and its edge against what they took without them.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesOfStack, stacksIn } from '../e2e/containers.ts';
import { eventually } from '../e2e/eventually.ts';
import { createInstallation, plainHttp } from '../e2e/installation.ts';
import { firstPerson, openProject } from '../e2e/open-project.ts';
import { treeOf } from '../e2e/processes.ts';
import { visit } from '../e2e/visit.ts';
import { catalogue, entryOf } from '../server/catalogue/catalogue.ts';
import { dataFolder } from '../server/catalogue/service.ts';
import { openTestContainers } from '../server/testing/images.ts';
import { median } from './harness/platform.ts';

const sleeping = 50;
const wakes = 9;
const atOnce = 10;
const sleepAfterSeconds = 5;
const asleepSecondsMax = 300;
const watchSeconds = 60;
/** What the start before left to be done is not to slow this one down. */
const restMilliseconds = 1000;
const targets = { wakeSeconds: 2, processorPercent: 1 };
const ticksPerSecond = 100;

const server = `
require('node:http').createServer((request, reply) => reply.end('here')).listen(process.env.PORT);
process.on('SIGTERM', () => process.exit(0));
`;

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    relationships: {database: 'db:postgresql'}
    web: {commands: {start: exec node server.js}}
services:
  db: {type: 'postgresql:17'}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`,
  'server.js': server,
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

const spread = (values: readonly number[]) =>
  `${median(values).toFixed(2)} s (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}, ${values.length} times)`;

function verdict(what: string, measured: string, isMet: boolean, target: string) {
  console.log(`${what}: ${measured}; ${target}: ${isMet ? 'ok' : 'MISSED'}`);
  if (!isMet) process.exitCode = 1;
}

/** The same two containers, without a platform: each start ends with the reply to a probe. */
async function openBare() {
  const containers = await openTestContainers();
  const { service } = entryOf(catalogue, 'postgresql:17').entry;
  if (!service) throw new Error('PostgreSQL is no service');
  const [database, app] = await Promise.all(
    ['postgresql:17', 'nodejs:24'].map(async (type) => (await containers.images.ensure(type)).layers),
  );
  if (!database || !app) throw new Error('The images are missing');
  const { env, writable, probe, stop, initialise } = service;
  const mounts = [{ from: await containers.volume('database'), at: dataFolder, writable: true }];
  await containers.start({ name: 'database', layers: database, argv: ['sleep', 'infinity'], env, writable, mounts });
  for (const { argv, stdin = '' } of initialise) await containers.run('database', { argv, stdin, env });
  await containers.runtime.remove('database');
  const argv = service.start({ limits: containers.limits, configuration: {}, host: 'localhost', apps: {} });
  return {
    async start(): Promise<number> {
      const seconds = await timed(async () => {
        await containers.start({ name: 'database', layers: database, argv, env, writable, mounts, probe, stop });
        await containers.start({
          name: 'app',
          layers: app,
          argv: ['node', '-e', server],
          env: { PORT: '8888' },
          probe: { kind: 'http', port: 8888, path: '/', secondsMax: 30 },
        });
      });
      for (const name of ['app', 'database']) await containers.runtime.remove(name);
      return seconds;
    },
    close: () => containers.close(),
  };
}

await using installation = await createInstallation(plainHttp);
const platform = await installation.start();
const project = await openProject(await firstPerson(installation.url, platform));
await project.write(files, 'First');
await project.push('main');
const [main] = stacksIn(installation.data);

/** User and system time so far, of the platform with its database, and of the edge; also what children took that have ended. */
function processorSeconds(): number {
  const guard = Number(readFileSync(`${installation.data}/edge/guard-process`, 'utf8'));
  return [...treeOf(platform.pid), ...treeOf(guard)].reduce((total, pid) => {
    try {
      const [, ...fields] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
      const ticks = fields.join(') ').split(' ').slice(11, 15).map(Number);
      return ticks.reduce((sum, some) => sum + some / ticksPerSecond, total);
    } catch {
      return total;
    }
  }, 0);
}

async function processorPercent(): Promise<number> {
  await sleep(restMilliseconds);
  const before = processorSeconds();
  await sleep(watchSeconds * 1000);
  return ((processorSeconds() - before) / watchSeconds) * 100;
}

const without = await processorPercent();
await project.api('PATCH', '/environments/main/settings', { sleep_after_seconds: sleepAfterSeconds });
const names = Array.from({ length: sleeping }, (_, index) => `preview-${index}`);
for (const name of names) await project.act('/environments/main/branch', { name });
const processes = () =>
  stacksIn(installation.data)
    .filter((stack) => stack !== main)
    .flatMap(processesOfStack);
const isAsleep = async () => {
  const environments: { sleeping_since: string | null }[] = await project.api('GET', '/environments');
  return environments.filter(({ sleeping_since }) => sleeping_since !== null).length === sleeping && processes().length === 0;
};
await eventually('all previews sleep', isAsleep, asleepSecondsMax, () => platform.said);
const percent = await processorPercent();
verdict(`processes of ${sleeping} environments that sleep`, String(processes().length), processes().length === 0, 'none');
verdict(
  `processor time of the platform with them, and without`,
  `${percent.toFixed(2)} % and ${without.toFixed(2)} % of a processor`,
  percent - without < targets.processorPercent,
  `at most ${targets.processorPercent} % more`,
);

const addresses = await Promise.all(names.map((name) => project.address(name)));
const wake = async (address = '') => {
  const { status, text } = await visit(address);
  if (status !== 200 || text !== 'here') throw new Error(`${address} was answered ${status}: ${text}`);
};
const bare = await openBare();
const times: Record<'bare' | 'woken', number[]> = { bare: [], woken: [] };
for (const address of addresses.slice(0, wakes)) {
  await sleep(restMilliseconds);
  times.bare.push(await bare.start());
  await sleep(restMilliseconds);
  times.woken.push(await timed(() => wake(address)));
}
await bare.close();
console.log(`the same containers, only started: ${spread(times.bare)}`);
const ratio = (median(times.woken) / median(times.bare)).toFixed(2);
verdict(
  'from a request to the first reply',
  `${spread(times.woken)}, ${ratio} times that`,
  median(times.woken) < targets.wakeSeconds,
  `under ${targets.wakeSeconds} s`,
);
const crowd = addresses.slice(wakes, wakes + atOnce);
console.log(`${atOnce} woken at once: ${(await timed(() => Promise.all(crowd.map(wake)))).toFixed(2)} s until the last has answered`);
