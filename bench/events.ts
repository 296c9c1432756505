/**
 * What it costs the platform that many people have the console open: its processor time with a thousand streams of events, at rest and while things
 * change that some of them see. The readers are a process of their own. That each of those concerned is told is part of the measurement.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createApiToken, insertUser } from '../server/rooms/users/public.ts';
import { openMeasuredPlatform } from './harness/platform.ts';
import { note, printTable } from './harness/verdicts.ts';

const people = 50;
const streamsOfEach = 20;
const streams = people * streamsOfEach;
const measuredSeconds = 45;
const changesPerSecond = 5;
const coreShareMax = 0.05;

const { api, db, close } = await openMeasuredPlatform();
const url = await api.listen({ host: '127.0.0.1', port: 0 });

async function newPerson(n: number) {
  const user = await insertUser(db, { email: `person-${n}@example.org`, username: `person-${n}` });
  const { token: api_token = '' } = await createApiToken(db, user, { name: 'bench' });
  const payload = { client_id: 'platform-cli', grant_type: 'api_token', api_token };
  const { access_token } = (await api.inject({ method: 'POST', url: '/oauth2/token', payload })).json<{ access_token: string }>();
  return { user, authorization: `Bearer ${access_token}` };
}

const everybody: Awaited<ReturnType<typeof newPerson>>[] = [];
for (let n = 0; n < people; n++) everybody.push(await newPerson(n));
const child = spawn(
  process.execPath,
  [
    join(import.meta.dirname, 'harness', 'event-readers.ts'),
    JSON.stringify({ url, streamsOfEach, tokens: everybody.map(({ authorization }) => authorization) }),
  ],
  { stdio: ['pipe', 'pipe', 'inherit'] },
);
const said = child.stdout.setEncoding('utf8');
await once(said, 'data');

async function coreShare(seconds: number, work: () => Promise<unknown>) {
  const [before, start] = [process.cpuUsage(), performance.now()];
  await Promise.all([sleep(seconds * 1000), work()]);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - start);
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
await sleep(3000);
const atRest = await coreShare(measuredSeconds, async () => {});
note({
  what: `${streams} streams at rest, of a core`,
  measured: percent(atRest),
  target: `< ${percent(coreShareMax)}`,
  isMet: atRest < coreShareMax,
});

const changed = Math.round((measuredSeconds * changesPerSecond) / 3);
const whileChanging = await coreShare(measuredSeconds / 3, async () => {
  for (let n = 0; n < changed; n++) {
    await sql`update users set first_name = ${`Name ${n}`} where id = ${everybody[n % people]?.user.id}`.execute(db);
    await sleep(1000 / changesPerSecond);
  }
});
await sleep(1000);
child.stdin.end();
const [text] = (await once(said, 'data')) as [string];
const { heard } = JSON.parse(text) as { heard: number };
note({ what: `the same, while ${changesPerSecond} things a second change`, measured: percent(whileChanging) });
note({
  what: 'events that arrived',
  measured: String(heard),
  target: String(changed * streamsOfEach),
  isMet: heard === changed * streamsOfEach,
});
await once(child, 'exit');
await close();
printTable();
