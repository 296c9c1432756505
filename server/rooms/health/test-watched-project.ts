/** Projects whose production runs on a machine that only remembers what it is told, and receivers of their own that keep what they are sent. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished } from 'vitest';
import type { Scope } from '../../drivers/metrics/metrics.ts';
import { deliveryKindsOf } from '../../kernel/room.ts';
import type { Platform } from '../../platform.ts';
import { rooms } from '../../rooms.ts';
import { workThrough } from '../../testing/activities.ts';
import { sampleMount, sampleRequest } from '../../testing/measurements.ts';
import { openMemoryMachine, type MemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { deliverDue } from '../deliveries/work.ts';

export interface WatchedHome {
  home: TestPlatform;
  machine: MemoryMachine;
  owner: Person;
}

export async function openWatchedHome(): Promise<WatchedHome> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-health-'));
  const machine = openMemoryMachine(folder);
  const home = await openTestPlatform(undefined, async () => machine, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));
  return { home, machine, owner: await home.person() };
}

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
  json: any;
}

/** Answers each request with what the test says, or with `ok` as Slack does. */
export async function openReceiver(answer: (nth: number) => { status?: number; body?: object } = () => ({})) {
  const received: Received[] = [];
  const server = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      const text = Buffer.concat(chunks as Buffer[]).toString();
      received.push({ path: request.url ?? '', headers: request.headers, text, json: JSON.parse(text) });
      const { status = 200, body = { ok: true } } = answer(received.length);
      reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, received };
}

export type TestReceiver = Awaited<ReturnType<typeof openReceiver>>;

/** Sends all that is due. What goes to services with an address of their own arrives at the receiver instead. */
export async function deliverTo({ platform }: TestPlatform, { origin }: TestReceiver): Promise<void> {
  const { outbound } = platform;
  const request: typeof outbound.request = (asked) =>
    outbound.request({ ...asked, url: asked.url.replace(/^https:\/\/(events\.pagerduty\.com|slack\.com)/, origin) });
  await deliverDue(deliveryKindsOf(rooms), { ...platform, outbound: { ...outbound, request } });
}

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js } }
services:
  db: { type: 'valkey:8.1' }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
};

/** With these integrations; its production is deployed. */
export async function openWatchedProject({ home, owner }: WatchedHome, ...integrations: object[]) {
  const { platform } = home;
  const { projectId, organization_id } = await sampleProject(owner);
  const head_commit = commitFiles(platform.git.path(projectId), undefined, files);
  await platform.git.moveBranch(projectId, 'main', undefined, head_commit);
  await platform.db.updateTable('environments').set({ head_commit }).where('project_id', '=', projectId).execute();
  const send = async (method: string, path: string, body?: unknown) => {
    const reply = await owner.send(method, `/projects/${projectId}${path}`, body);
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
    return reply.json;
  };
  const act = async (verb: string) => {
    await send('POST', `/environments/main/${verb}`, {});
    await workThrough(platform);
  };
  await act('activate');
  const ids: string[] = [];
  const add = async (body: object) => String((await send('POST', '/integrations', body))._embedded.entity.id);
  for (const body of integrations) ids.push(await add(body));
  return { projectId, organizationId: organization_id, ids, add, send, act };
}

async function scopeOf({ db }: Platform, projectId: string): Promise<Scope> {
  const { machine_name } = await db
    .selectFrom('environments')
    .select('machine_name')
    .where('project_id', '=', projectId)
    .where('id', '=', 'main')
    .executeTakeFirstOrThrow();
  return { project: projectId, environment: machine_name };
}

/** As if the disk of the database had been so full in the minute before. */
export async function fillDisk(platform: Platform, projectId: string, percent: number, now: Date): Promise<void> {
  const { metrics } = platform;
  const [scope, diskLimit] = [await scopeOf(platform, projectId), 10 * 2 ** 30];
  metrics.append('mounts', [
    sampleMount(scope, now.getTime() - 30_000, {
      service: 'db',
      instance: 'db.0',
      diskLimit,
      diskUsed: (diskLimit * percent) / 100,
    }),
  ]);
  await metrics.settled();
}

/** As if visitors had got these statuses in the minute before. */
export async function visit(platform: Platform, projectId: string, statuses: readonly number[], now: Date): Promise<void> {
  const { metrics } = platform;
  const scope = await scopeOf(platform, projectId);
  metrics.append(
    'requests',
    statuses.map((status) => sampleRequest(scope, now.getTime() - 30_000, { status })),
  );
  await metrics.settled();
}

export const later = (time: Date, minutes: number) => new Date(time.getTime() + minutes * 60_000);
