/** Kafka as an app uses it: what was acknowledged is in a branch that is made meanwhile, and comes back with a backup. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { firstPerson, openProject, read, type Project } from '../open-project.ts';
import { visit } from '../visit.ts';

const millisecondsMax = 530_000;
let installation: Installation;
let project: Project;

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:24
    relationships: {broker: 'events:kafka'}
    web: {commands: {start: exec node server.mjs}}
services:
  events: {type: 'kafka:4.3'}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http', cache: {enabled: false}}
`,
  'package.json': JSON.stringify({ name: 'words', private: true, dependencies: { kafkajs: '2.2.4' } }),
  'server.mjs': `
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';

const { BROKER_HOST: host, BROKER_PORT: port } = process.env;
const kafka = new kafkajs.Kafka({ brokers: [host + ':' + port], logLevel: kafkajs.logLevel.NOTHING });
const [topic, producer, admin] = ['words', kafka.producer(), kafka.admin()];
await Promise.all([producer.connect(), admin.connect()]);
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });

async function words() {
  const [{ high }] = await admin.fetchTopicOffsets(topic);
  const found = [];
  if (high === '0') return found;
  const consumer = kafka.consumer({ groupId: 'reader-' + Math.random() });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachMessage: async ({ message }) => void found.push(message.value.toString()) });
  while (found.length < Number(high)) await sleep(20);
  await consumer.disconnect();
  return found;
}

createServer(async (request, response) => {
  const word = new URL(request.url, 'http://app').searchParams.get('word');
  if (request.method === 'POST') await producer.send({ topic, acks: -1, messages: [{ value: word }] });
  response.end(request.method === 'POST' ? 'written' : (await words()).join(','));
}).listen(Number(process.env.PORT));
`,
};

beforeAll(async () => {
  if (!canRunContainers) return;
  installation = await createInstallation(plainHttp);
  const platform = await installation.start();
  project = await openProject(await firstPerson(installation.url, platform), { activitySecondsMax: 400, lookMilliseconds: 50 });
}, millisecondsMax);
afterAll(() => installation?.[Symbol.asyncDispose](), millisecondsMax);

const write = async (address: string, word: string) =>
  expect((await visit(new URL(`/?word=${word}`, address).href, { method: 'POST' })).text).toBe('written');

describe.runIf(canRunContainers)(`kafka${whyNoContainers}`, { timeout: millisecondsMax }, () => {
  test('a branch has what was acknowledged before it was asked for, and a backup brings it back', async () => {
    await project.write(files, 'First');
    await project.push('main');
    const main = await project.address('main');
    const { services } = await project.api('GET', '/environments/main/deployments/current');
    expect(services).toMatchObject({ events: { type: 'kafka:4.3' } });

    const acknowledged: string[] = [];
    const branching = new AbortController();
    const writing = (async () => {
      for (let number = 0; !branching.signal.aborted; number += 1) {
        await write(main, `word-${number}`);
        acknowledged.push(`word-${number}`);
      }
    })();
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    const before = [...acknowledged];
    await project.act('/environments/main/branch', { name: 'other' });
    branching.abort();
    await writing;
    const cloned = (await read(await project.address('other'), '/')).split(',');
    expect(cloned.slice(0, before.length)).toEqual(before);
    expect(acknowledged.slice(0, cloned.length)).toEqual(cloned);

    await project.act('/environments/main/backup');
    await write(main, 'later');
    expect((await read(main, '/')).split(',')).toEqual([...acknowledged, 'later']);
    const [backup] = await project.api('GET', '/environments/main/backups');
    await project.act(`/environments/main/backups/${backup.id}/restore`);
    expect((await read(main, '/')).split(',')).toEqual(acknowledged);
  });
});
