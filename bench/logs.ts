/**
 * What it costs the platform that many follow one log over HTTP: its processor time while the log grows, with one follower and with fifty. The writer
 * and the readers are processes of their own, and every reader has to get every line. How long lines take is told beside it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureLogs, logFile, logsOf } from '../server/drivers/logs/log-folders.ts';
import { shortId } from '../server/kernel/id.ts';
import { logsFolder } from '../server/machine.ts';
import { createDefaultEnvironment } from '../server/rooms/environments/work.ts';
import { insertProject } from '../server/rooms/projects/public.ts';
import { openMeasuredPlatform } from './harness/platform.ts';

const followers = 50;
const linesPerSecond = [10, 100, 1000];
const measuredSeconds = 10;
const settleSeconds = 3;
const coreShareMax = 0.05;

const { api, platform, db, user, headers, close } = await openMeasuredPlatform();
const address = await api.listen({ host: '127.0.0.1', port: 0 });
const { id: organization_id } = (await api.inject({ method: 'POST', url: '/organizations', headers, payload: { label: 'Bench' } })).json();
const project = await db.transaction().execute(async (tx) => {
  const fields = { id: shortId(), organization_id, region: platform.config.region.id, title: 'Bench', status: 'active', owner_id: user.id };
  const made = await insertProject(tx, fields);
  await createDefaultEnvironment(tx, made);
  return made.id;
});
const { machine_name } = await db
  .selectFrom('environments')
  .select('machine_name')
  .where('project_id', '=', project)
  .executeTakeFirstOrThrow();
const logs = logsOf(logsFolder(platform.config), `${project}-${machine_name}`);
await ensureLogs(logs, ['app']);

interface Measured {
  coreShare: number;
  /** Milliseconds. */
  delay: number;
}

async function measure(readers: number, rate: number): Promise<Measured> {
  const told = {
    url: `${address}/projects/${project}/environments/main/logs/app/app?follow=true&tail=1`,
    authorization: headers.authorization,
    file: logFile(logs, 'app', 'app'),
    readers,
    rate,
    seconds: settleSeconds + measuredSeconds,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'harness', 'log-readers.ts'), JSON.stringify(told)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await once(child.stdout, 'data');
  await sleep(settleSeconds * 1000);
  const [before, start] = [process.cpuUsage(), performance.now()];
  await sleep(measuredSeconds * 1000);
  const { user: inUser, system } = process.cpuUsage(before);
  const milliseconds = performance.now() - start;
  await once(child, 'exit');
  const { missing, delay } = JSON.parse(said.split('\n')[1] ?? '') as { missing: number; delay: number };
  if (missing > 0) throw new Error(`${missing} lines did not arrive`);
  return { coreShare: (inUser + system) / 1000 / milliseconds, delay };
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
for (const rate of linesPerSecond) {
  const [one, many] = [await measure(1, rate), await measure(followers, rate)];
  const isTooMuch = many.coreShare > coreShareMax;
  console.log(
    `${String(rate).padStart(4)} lines a second: ${followers} followers cost ${percent(many.coreShare)} of a core, one ${percent(one.coreShare)}` +
      `; a line arrives after ${many.delay.toFixed(0)} ms (at most ${percent(coreShareMax)}: ${isTooMuch ? 'TOO MUCH' : 'ok'})`,
  );
  if (isTooMuch) process.exitCode = 1;
}
await close();
