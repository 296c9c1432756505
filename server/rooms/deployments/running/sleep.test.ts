import { rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../../edge/testing/running-edge.ts';
import { eachStepTwice } from '../../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import type { CollectLimits } from '../../../drivers/images/images.ts';
import { shortId } from '../../../kernel/id.ts';
import { machineName } from '../../environments/public.ts';
import { collectUnused } from './image-upkeep.ts';
import { currentlyDeployed, insertDeployment, makeCurrent, newDeployment } from '../queries.ts';
import { keepStacksRunning } from './reconcilers.ts';
import { sendIdleToSleep } from './sleep.ts';
import { wakeWhenVisited } from './wake-when-visited.ts';
import { definitions, openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';
import { wakeEnvironment } from './wake.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const preview = 'preview';

/** Tells how often it was started on this data; says what was sent to it; waits until it is told to go on; and speaks another protocol. */
const server = `
const { appendFileSync, readFileSync, writeFileSync, existsSync } = require('node:fs');
if (existsSync('/app/data/hangs')) return setInterval(() => {}, 1000);
if (existsSync('/app/data/broken')) { console.log('I am broken'); process.exit(7); }
appendFileSync('/app/data/starts', '.');
const server = require('node:http').createServer(async (request, reply) => {
  if (request.url === '/slow') for (writeFileSync('/app/data/slow', ''); existsSync('/app/data/slow');) await new Promise((resolve) => setTimeout(resolve, 50));
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  reply.end(JSON.stringify({ starts: readFileSync('/app/data/starts', 'utf8').length, said: Buffer.concat(pieces).toString() }));
});
server.on('upgrade', (request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\nhello');
  socket.on('error', () => {}).on('data', () => {});
});
server.listen(process.env.PORT, '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

const files = (color = 'blue'): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    variables: { env: { COLOR: ${color} } }
    mounts: { data: { source: storage, source_path: data } }
    relationships: { store: 'store:postgresql' }
    web: { commands: { start: exec node server.js } }
services: { store: { type: 'postgresql:17' } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'server.js': server,
});

describe.runIf(canRunContainers)(`sleep${whyNoContainers}`, () => {
  let edge: RunningEdge;
  let all: TestDeployments;
  let project: Awaited<ReturnType<TestDeployments['project']>>;
  let hearing: AbortController;
  let listening: Promise<void>;

  beforeAll(async () => {
    all = await openTestDeployments(async (volumes) => {
      edge = await startRunningEdge({ volumes });
      return edge.edge;
    });
    for (const type of ['nodejs:22', 'postgresql:17']) await all.machine.images.ensure(type);
    project = await all.project();
    await project.addEnvironment(preview);
    await project.push(files(), { environment: preview });
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await edge[Symbol.asyncDispose]();
    await all.close();
  });
  beforeEach(async () => {
    hearing = new AbortController();
    listening = wakeWhenVisited.listen(all.home.platform, hearing.signal);
  });
  afterEach(async () => {
    hearing.abort();
    await listening;
  });

  const once = (reconciler: typeof keepStacksRunning) => reconciler.run(all.home.platform, new AbortController().signal);
  const host = async () => `${(await project.row(preview)).machine_name}-${project.projectId}.offshoot.localhost`;
  const visit = async (path = '/', said?: string, at?: string) => {
    const sent = httpRequest({
      port: edge.port,
      host: '127.0.0.1',
      path,
      method: said === undefined ? 'GET' : 'POST',
      headers: { host: at ?? (await host()) },
      agent: false,
    }).end(said);
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
    sent.on('error', reject).on('response', (reply) => {
      void text(reply).then((body) => resolve({ status: reply.statusCode ?? 0, body }), reject);
    });
    return promise;
  };
  const starts = async (): Promise<number> => JSON.parse((await visit()).body).starts;
  const set = (columns: { sleep_after_seconds?: number; type?: string }, environment = preview) =>
    all.home.platform.db
      .updateTable('environments')
      .set(columns)
      .where('project_id', '=', project.projectId)
      .where('id', '=', environment)
      .execute();
  /** Nobody comes for a second. */
  const leaveAlone = async (allowedSeconds = 1) => {
    await set({ sleep_after_seconds: allowedSeconds });
    await sleep(1100);
    await once(sendIdleToSleep);
  };
  const openSession = async () => {
    const { user } = await all.home.person();
    const where = { project_id: project.projectId, environment_id: preview, runs: 'app', instance: 0 };
    return all.home.platform.db
      .insertInto('ssh_sessions')
      .values({ id: 'session', user_id: user.id, ...where, address: '192.0.2.7', via: 'test' })
      .returning('id')
      .executeTakeFirstOrThrow();
  };
  /** Also where nothing runs. */
  const heal = async (what: string) => {
    const storage = await all.machine.volumes.volume(`stack-${(await project.row(preview)).stack_id}-storage-app`);
    rmSync(`${storage?.path}/data/${what}`);
  };
  const isAsleep = async () => {
    const { status, sleeping_since } = await project.row(preview);
    const [{ containers }, table] = [await project.found(preview), await project.table(preview)];
    expect(status).toBe('active');
    expect([sleeping_since !== null, table?.state]).toEqual(sleeping_since === null ? [false, 'open'] : [true, 'sleeping']);
    expect(containers).toHaveLength(sleeping_since === null ? 2 : 0);
    return sleeping_since !== null;
  };

  test(
    'one that nobody visits sleeps, with nothing left running; twenty visitors at once wake it once, and all are answered',
    { timeout },
    async () => {
      expect(await starts()).toBe(1);
      await leaveAlone(60);
      expect(await isAsleep()).toBe(false);
      await leaveAlone();
      expect(await isAsleep()).toBe(true);
      await once(keepStacksRunning);
      expect(await isAsleep()).toBe(true);
      const images = { ...all.machine.images, collect: async (_: CollectLimits, keep: ReadonlySet<string> = new Set()) => [...keep] };
      const image = await images.built('postgresql:17');
      expect(await collectUnused(all.home.platform.db, { ...all.machine, images })).toEqual(
        expect.arrayContaining(image?.layers ?? ['built']),
      );
      const said = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? undefined : `body ${n} `.repeat(5000)));
      const replies = await Promise.all(said.map((body) => visit('/', body)));
      expect(replies.map(({ status, body }) => [status, JSON.parse(body)])).toEqual(
        said.map((body = '') => [200, { starts: 2, said: body }]),
      );
      expect(await isAsleep()).toBe(false);
      const { rows } = await sql`select from activities where project_id = ${project.projectId} and type not in ('test.deploy')`.execute(
        all.home.platform.db,
      );
      expect(rows).toEqual([]);
    },
  );

  test(
    'whoever is still there keeps it awake: a request that takes long, a WebSocket, a session; and production never sleeps',
    { timeout },
    async () => {
      const slow = visit('/slow');
      await project.inside('until [ -e /app/data/slow ]; do sleep 0.1; done', preview);
      await leaveAlone();
      expect(await isAsleep()).toBe(false);
      await project.inside('rm /app/data/slow', preview);
      expect((await slow).status).toBe(200);
      const socket = connect(edge.port, '127.0.0.1');
      socket.write(`GET / HTTP/1.1\r\nHost: ${await host()}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      await leaveAlone();
      expect(await isAsleep()).toBe(false);
      socket.destroy();
      const session = await openSession();
      await leaveAlone();
      expect(await isAsleep()).toBe(false);
      await all.home.platform.db.deleteFrom('ssh_sessions').where('id', '=', session.id).execute();
      await set({ type: 'production' });
      await leaveAlone();
      expect(await isAsleep()).toBe(false);
      await set({ type: 'development' });
      const waiting = await project.begin('pause', preview);
      await leaveAlone();
      expect(await isAsleep()).toBe(false);
      await all.home.platform.db.deleteFrom('activities').where('id', '=', waiting.id).execute();
      await leaveAlone();
      expect(await isAsleep()).toBe(true);
      await Promise.all([wakeEnvironment(all.home.platform, project.projectId, preview), starts()]);
      expect(await isAsleep()).toBe(false);
    },
  );

  test('killed half way, it is asleep or awake a moment later, as was written down', { timeout }, async () => {
    const before = await starts();
    const { db } = all.home.platform;
    const write = (since: string | null) =>
      sql`update environments set sleeping_since = ${since} where project_id = ${project.projectId} and id = ${preview}`.execute(db);
    await write('2026-11-15T10:00:00Z');
    await once(keepStacksRunning);
    expect(await isAsleep()).toBe(true);
    await write(null);
    const visitor = starts();
    await once(keepStacksRunning);
    expect([await isAsleep(), await visitor]).toEqual([false, before + 1]);
    await write('2026-11-15T10:00:00Z');
    await once(keepStacksRunning);
    await set({ type: 'production' });
    await once(keepStacksRunning);
    expect(await isAsleep()).toBe(false);
    await set({ type: 'development' });
  });

  test('whatever is deployed wakes it first; branching from it, pausing it and failing leave it well', { timeout }, async () => {
    await leaveAlone();
    expect(await isAsleep()).toBe(true);
    const log = await project.push(files(), { environment: preview });
    expect(log).toContain(`Waking environment ${preview}`);
    expect(await isAsleep()).toBe(false);
    await leaveAlone();
    await eachStepTwice(all.home.platform, () => project.beginDeploy(files('green'), { environment: preview }), definitions);
    expect(await isAsleep()).toBe(false);
    await leaveAlone();
    await project.addEnvironment('child');
    await project.push(files('green'), { environment: 'child', cloneFrom: preview });
    expect(await isAsleep()).toBe(false);
    await leaveAlone();
    const broken = { ...files(), 'server.js': 'process.exit(3)' };
    expect(await project.attempt(broken, { environment: preview })).toMatchObject({ result: 'failure' });
    expect([await isAsleep(), (await visit()).status]).toEqual([false, 200]);
    await leaveAlone();
    await eachStepTwice(all.home.platform, () => project.begin('pause', preview), definitions);
    expect(await project.row(preview)).toMatchObject({ status: 'paused', sleeping_since: null });
    expect([(await project.found(preview)).containers, (await visit()).status]).toEqual([[], 503]);
    await project.push(files('green'), { environment: preview });
    expect(await isAsleep()).toBe(false);
  });

  test('one that cannot be woken says so to visitors and to its owner, and is tried again, but not all the time', { timeout }, async () => {
    const before = await starts();
    await project.inside('touch /app/data/broken', preview);
    await leaveAlone();
    expect(await isAsleep()).toBe(true);
    const [refused, inVain] = await Promise.all([
      visit(),
      wakeEnvironment(all.home.platform, project.projectId, preview).catch((error: Error) => error.message),
    ]);
    expect(inVain).toContain("The environment preview could not be woken: Application 'app' ended with code 7");
    expect([refused.status, refused.body]).toEqual([502, expect.stringContaining('The application does not answer')]);
    const { sleeping_since, start_failure } = await project.row(preview);
    expect([sleeping_since, start_failure]).toEqual([null, expect.stringMatching(/Application 'app' ended with code 7.*I am broken/s)]);
    await heal('broken');
    await once(keepStacksRunning);
    expect((await visit()).status).toBe(502);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30_000 });
    try {
      await once(keepStacksRunning);
    } finally {
      vi.useRealTimers();
    }
    expect([await starts(), (await project.row(preview)).start_failure]).toEqual([before + 1, null]);
    expect(await isAsleep()).toBe(false);
    expect(await project.inside('cat /var/log/app.log', preview)).toContain('The environment could not be started');
  });

  test(
    'one for which there is no room stays asleep: whoever waits is told, and the next visitor has it tried again',
    { timeout },
    async () => {
      const before = await starts();
      await leaveAlone();
      expect(await isAsleep()).toBe(true);
      const { config } = all.home.platform;
      const { overcommit } = config;
      config.overcommit = { ...overcommit, memory: 1e-6 };
      try {
        const inVain = wakeEnvironment(all.home.platform, project.projectId, preview).catch((error: Error) => error.message);
        const turnedAway = await Promise.all([visit(), visit()]);
        for (const { status, body } of turnedAway)
          expect([status, body]).toEqual([503, expect.stringContaining('There is no room for this site')]);
        expect(await inVain).toMatch(/^The environment preview could not be woken: This machine is full\. memory: /);
        const { sleeping_since, start_failure } = await project.row(preview);
        expect([sleeping_since, start_failure]).toEqual([expect.any(String), expect.stringMatching(/^This machine is full/)]);
        await once(keepStacksRunning);
        expect(await isAsleep()).toBe(true);
        expect(await project.attempt(files('green'), { environment: preview })).toEqual({
          result: 'failure',
          log: expect.stringMatching(/W: preview stays asleep: This machine is full.*Invalid deployment: This machine is full/s),
        });
        expect(await isAsleep()).toBe(true);
      } finally {
        config.overcommit = overcommit;
      }
      expect([await starts(), await isAsleep()]).toEqual([before + 1, false]);
      expect((await project.row(preview)).start_failure).toBeNull();
      expect(await project.inside('cat /var/log/app.log', preview)).toContain('could not be started: This machine is full');
    },
  );

  test('twenty previews that are visited at once all wake up and answer, a few at a time', { timeout }, async () => {
    const { platform } = all.home;
    const crowd = await all.project();
    const yaml = `
applications: { app: { type: 'nodejs:22', build: { flavor: none }, web: { commands: { start: exec node server.js } } } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`;
    const hello = `require('node:http').createServer((request, reply) => reply.end(process.env.PLATFORM_BRANCH)).listen(process.env.PORT, '0.0.0.0')`;
    await crowd.push({ '.upsun/config.yaml': yaml, 'server.js': hello });
    const first = (await currentlyDeployed(platform.db, platform.secrets, crowd.projectId, 'main'))!;
    const names = Array.from({ length: 20 }, (_, n) => `preview-${n}`);
    const hosts = names.map((id) => `${machineName(id, crowd.projectId)}-${crowd.projectId}.offshoot.localhost`);
    for (const id of names) {
      await crowd.addEnvironment(id);
      const environment = { id, machine_name: machineName(id, crowd.projectId), type: 'development' as const, is_main: false };
      const routes = Object.entries(first.stack.routes).map(([url, route]) => [
        url.replace(/^http:\/\/main-\w+/, `http://${machineName(id, crowd.projectId)}`),
        route,
      ]);
      const stack = { ...first.stack, id: shortId(), deployment: newDeployment(1), environment, routes: Object.fromEntries(routes) };
      await platform.db.transaction().execute(async (tx) => {
        await insertDeployment(tx, platform.secrets, { stack, generations: { app: 1 } }, shortId());
        await makeCurrent(tx, stack);
      });
    }
    await sql`update environments set sleeping_since = now() where project_id = ${crowd.projectId} and id <> 'main'`.execute(platform.db);
    await once(keepStacksRunning);

    const starting: number[] = [];
    const watching = new AbortController();
    const watched = (async () => {
      for (; !watching.signal.aborted; await sleep(20))
        starting.push((await all.machine.runtime.list()).filter(({ status }) => status === 'starting').length);
    })();
    const replies = await Promise.all(hosts.map((at) => visit('/', undefined, at)));
    watching.abort();
    await watched;
    expect(replies).toEqual(names.map((id) => ({ status: 200, body: id })));
    expect([Math.max(...starting) > 1, Math.max(...starting) <= 4]).toEqual([true, true]);
    // Visitors are answered a moment before it is written down that they are.
    const asleep = sql`select from environments where project_id = ${crowd.projectId} and (sleeping_since is not null or is_waking)`;
    await expect.poll(async () => (await asleep.execute(platform.db)).rows).toEqual([]);
  });

  test('a deployment does not wait for an app that does not wake up; its visitors get what is deployed', { timeout }, async () => {
    await project.inside('touch /app/data/hangs', preview);
    await leaveAlone();
    const visitor = visit();
    await vi.waitFor(async () => expect((await project.found(preview)).containers).toHaveLength(2), { timeout: 90_000 });
    await heal('hangs');
    await project.push(files('red'), { environment: preview });
    expect([(await visitor).status, await isAsleep()]).toEqual([200, false]);
  });
});
