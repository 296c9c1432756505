import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { EdgeStatus } from '../../drivers/edge/edge.ts';
import { startReconcilers } from '../../kernel/reconciler.ts';
import { activitiesOf } from '../../kernel/room.ts';
import { startRunner } from '../../kernel/runner.ts';
import { rooms } from '../../rooms.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { sampleBackup, sampleOrganization } from '../../testing/samples.ts';

const token = 'a-token-of-24-characters';
const edgeStatus: EdgeStatus = {
  version: '1',
  node: '24',
  pid: 1,
  parent_pid: 1,
  started_at: '2026-01-31T12:00:00Z',
  listeners: [],
  environments: 4,
  contested: [],
  set_aside: [],
  processes: [1, 2].map((pid) => ({
    pid,
    connections: 10,
    outstanding: 3,
    answered: { '1xx': 0, '2xx': 40, '3xx': 0, '4xx': 1, '5xx': 0 },
    records_dropped: 0,
    log_lines_dropped: 0,
    memory_bytes: 1e8,
  })),
  answered: { '1xx': 0, '2xx': 90, '3xx': 0, '4xx': 2, '5xx': 0 },
  restarts: 1,
  has_predecessor: false,
};
let home: TestPlatform;
let text: string;

const scrape = (authorization?: string, from = home) =>
  from.send({ method: 'GET', url: '/metrics', ...(authorization && { headers: { authorization } }) });

/** The names of all families that are told. */
const namesIn = (page: string) => [...page.matchAll(/^# TYPE (\w+) \w+$/gm)].map(([, name = '']) => name);
const value = (series: string) => Number(new RegExp(`^${series.replaceAll(/[{}"]/g, String.raw`\$&`)} (.+)$`, 'm').exec(text)?.[1]);

beforeAll(async () => {
  const memory = openMemoryMachine(tmpdir());
  const machine = {
    ...memory,
    edge: { ...memory.edge, status: async () => edgeStatus },
    runtime: { ...memory.runtime, list: async () => [{ name: 'app', status: 'running' as const, restarts: 2 }] },
  };
  home = await openTestPlatform(undefined, () => Promise.resolve(machine), { OFFSHOOT_METRICS_TOKEN: token });
  const { platform } = home;
  const owner = await home.person();
  const { organization_id } = await sampleOrganization(owner);
  await sampleBackup(owner);
  await owner.send('POST', `/organizations/${organization_id}/subscriptions`, { project_region: platform.config.region.id });
  const runner = startRunner(activitiesOf(rooms), platform);
  const underCreation = () => platform.db.selectFrom('projects').select('id').where('status', '=', 'requested').execute();
  await vi.waitUntil(async () => (await underCreation()).length === 0, { timeout: 60_000, interval: 100 });
  await runner.close();
  await owner.send('POST', `/organizations/${organization_id}/subscriptions`, { project_region: platform.config.region.id });
  await owner.send('GET', '/users/me');
  await owner.send('GET', '/projects/nobodys');
  await platform.db.insertInto('installation').values({ backed_up_at: new Date().toISOString() }).execute();
  const ran = Promise.withResolvers<void>();
  const failing = { name: 'fail', everySeconds: 600, run: async () => Promise.reject(new Error('broken')) };
  const well = { name: 'do well', everySeconds: 600, run: async () => ran.resolve() };
  const reconcilers = startReconcilers([failing, well], platform);
  await ran.promise;
  await reconcilers.close();
  for (const to of ['ada@example.org', 'zoe@example.org']) {
    await recordMail(platform.db, platform, { to, subject: 'Hello', text: 'Hello' });
    if (to.startsWith('ada')) await home.mail();
  }
  ({ text } = await scrape(`Bearer ${token}`));
});

describe('/metrics', () => {
  test('is for operators, and for programs that have the token', async () => {
    const [operator, somebody] = [await home.person({ is_operator: true }), await home.person()];
    const statuses = await Promise.all(
      [
        undefined,
        'Bearer',
        `Bearer ${token}x`,
        `Basic ${token}`,
        `Bearer ${somebody.accessToken}`,
        `Bearer ${operator.accessToken}`,
        `Bearer ${token}`,
      ].map(async (authorization) => (await scrape(authorization)).status),
    );
    expect(statuses).toEqual([401, 401, 401, 401, 403, 200, 200]);
    expect((await scrape()).headers['www-authenticate']).toMatch(/^Bearer/);
    expect((await scrape(`Bearer ${token}`)).headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('is not open where no token is set', async () => {
    const closed = await openTestPlatform();
    expect((await scrape(undefined, closed)).status).toBe(401);
    expect((await scrape('Bearer undefined', closed)).status).toBe(401);
    const operator = await closed.person({ is_operator: true });
    const reply = await scrape(`Bearer ${operator.accessToken}`, closed);
    expect(reply.status).toBe(200);
    // There is no machine in that process; the rest is told all the same.
    expect(reply.text).toContain('offshoot_part_up{part="edge"} 0');
    expect(reply.text).toContain('offshoot_part_up{part="database"} 1');
  });

  test('tells what happened', () => {
    expect(value('offshoot_http_requests_total{family="account",method="GET",status="200"}')).toBeGreaterThan(0);
    expect(value('offshoot_http_requests_total{family="project",method="GET",status="404"}')).toBe(1);
    expect(value('offshoot_http_request_duration_seconds_count{family="project",method="GET"}')).toBeGreaterThan(0);
    expect(value('offshoot_activities_ended_total{type="project.create",result="success"}')).toBe(1);
    expect(value('offshoot_reconciler_runs_total{reconciler="fail",result="failure"}')).toBe(1);
    expect(value('offshoot_reconciler_last_success_timestamp_seconds{reconciler="do well"}')).toBeGreaterThan(Date.now() / 1000 - 600);
    expect(text).not.toContain('last_success_timestamp_seconds{reconciler="fail"}');
    expect(value('offshoot_activity_wait_seconds_count{queue="default"}')).toBeGreaterThan(0);
    expect(value('offshoot_activities{type="project.create",state="pending"}')).toBe(1);
    expect(value('offshoot_activity_oldest_waiting_seconds{type="project.create"}')).toBeGreaterThanOrEqual(0);
    expect(value('offshoot_deliveries_ended_total{kind="mail",result="delivered"}')).toBeGreaterThanOrEqual(1);
    expect(value('offshoot_deliveries_waiting{kind="mail"}')).toBe(1);
    expect(value('offshoot_delivery_oldest_waiting_seconds{kind="mail"}')).toBeGreaterThanOrEqual(0);
    expect(value('offshoot_edge_connections')).toBe(20);
    expect(value('offshoot_edge_requests_total{status="2xx"}')).toBe(90);
    expect(value('offshoot_containers{status="running"}')).toBe(1);
    expect(value('offshoot_backups{state="restorable"}')).toBe(1);
    expect(value('offshoot_part_up{part="containers"}')).toBe(1);
  });

  test('names no project, no host and nobody: labels come from short lists', () => {
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name = '']) => name));
    expect([...labels].filter((name) => /project|environment|organization|host|user|path|url/.test(name))).toEqual([]);
    expect(text.split('\n').length).toBeLessThan(600);
  });

  test('is written as Prometheus reads it: each family once, its samples after it, every value a number', () => {
    const families = text.split(/^# HELP /m).slice(1);
    const names = families.map((family) => family.split(' ', 1)[0] ?? '');
    expect(new Set(names).size).toBe(names.length);
    for (const [nth, family] of families.entries()) {
      const [, type = '', ...samples] = family.trimEnd().split('\n');
      expect(type).toMatch(new RegExp(`^# TYPE ${names[nth]} (counter|gauge|histogram)$`));
      expect(
        samples.filter(
          (line) => !new RegExp(String.raw`^${names[nth]}(_bucket|_sum|_count)?(\{(\w+="[^"\\\n]*",?)+\})? [-+\d.e]+$`).test(line),
        ),
      ).toEqual([]);
      expect(names[nth]?.endsWith('_total')).toBe(type.endsWith('counter'));
    }
  });
});

describe('what operators read about it', () => {
  const page = readFileSync(new URL('../../../docs/operating/monitoring.md', import.meta.url), 'utf8');
  const alerts = readFileSync(new URL('../../../docs/operating/alerts.yml', import.meta.url), 'utf8');
  const told = () => new Set(namesIn(text));

  test('explains every metric, and none that is not told', async () => {
    // These are told once there is something to tell.
    const unlessNothing = [
      'offshoot_machine',
      'offshoot_certificate_soonest_expiry_timestamp_seconds',
      'offshoot_log_forwarding_records_total',
      'offshoot_log_forwarding_lost_bytes_total',
    ];
    const explained = [...page.matchAll(/^\| (`.+?`) +\|/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    );
    expect([...told()].filter((name) => !explained.includes(name))).toEqual([]);
    expect(explained.filter((name) => !told().has(name) && !unlessNothing.includes(name))).toEqual([]);
    expect(unlessNothing.filter((name) => !explained.includes(name))).toEqual([]);
  });

  test('has rules whose metrics and labels exist', () => {
    const explained = new Map(
      [...page.matchAll(/^\| (`.+?`) +\| (.*?) +\|/gm)].flatMap(([, names = '', labels = '']) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, labels] as const),
      ),
    );
    const used = [...alerts.matchAll(/\b(offshoot_\w+?)(?:_bucket)?\b(?:\{(\w+)[=~!])?/g)];
    expect(used.length).toBeGreaterThan(15);
    expect(
      used
        .filter(([, name = '', label]) => !explained.has(name) || (label && !explained.get(name)?.includes(`\`${label}\``)))
        .map(([all]) => all),
    ).toEqual([]);
  });
});
