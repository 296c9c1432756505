import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { appendLog } from '../../drivers/logs/append-log.ts';
import { logFile, logsOf } from '../../drivers/logs/log-folders.ts';
import type { Scope } from '../../drivers/metrics/metrics.ts';
import { anyTransaction, referenceBreakdown } from '../../drivers/metrics/test-reference.ts';
import { logsFolder } from '../../machine.ts';
import { deploySample } from '../../testing/deployment.ts';
import { sampleMount, sampleRequest, sampleSpan, sampleTransaction, sampleUse, scopeIn } from '../../testing/measurements.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { mismatchesWithPublished } from '../../testing/published-replies.ts';
import { fill, sampleEnvironment, sampleLog } from '../../testing/samples.ts';

let home: TestPlatform;
let owner: Person;
/** A full hour that is over, in Unix seconds, of today or yesterday. */
const start = (Math.floor(Date.now() / 1000 / 3600) - 3) * 3600;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
});

const path = '/projects/{projectId}/environments/{environmentId}';

async function environment() {
  const { projectId, environmentId } = await sampleEnvironment(owner);
  const at = `${fill(path, { projectId, environmentId })}/observability`;
  const ask = (rest: string, person = owner) => person.send('GET', `${at}/${rest}`);
  return { projectId, environmentId, at, ask, scope: scopeIn(projectId, environmentId) };
}

async function letIn(projectId: string, permissions: string[]): Promise<Person> {
  const person = await home.person();
  await owner.send('POST', `/projects/${projectId}/user-access`, [{ user_id: person.user.id, permissions, auto_add_member: true }]);
  return person;
}

const hour = `from=${start}&to=${start + 3600}`;

describe('the breakdown of transactions', () => {
  test('is what anybody would compute by hand, whatever is filtered and however arrays are written', async () => {
    const { ask, scope } = await environment();
    const records = fc.sample(anyTransaction(start), { numRuns: 300, seed: 11 }).map((record) => ({ ...record, ...scope }));
    home.platform.metrics.append('transactions', records);
    await home.platform.metrics.settled();
    const web = { contexts: { values: ['web'], mode: 'additive' } } as const;
    const usual = {
      ...scope,
      from: start,
      to: start + 7200,
      grain: 300,
      dimension: 'wt',
      sort: 'impact',
      limit: 200,
      filters: web,
    } as const;
    const range = `from=${usual.from}&to=${usual.to}&grain=${usual.grain}`;
    const asked: [string, Parameters<typeof referenceBreakdown>[1]][] = [
      ['', usual],
      [
        '&contexts_mode=-1&sort=total_errors&breakdown_dimension=pmu&breakdown_limit=3',
        { ...usual, dimension: 'pmu', sort: 'total_errors', limit: 3, filters: {} },
      ],
      [
        '&http_status_codes[]=5xx&http_status_codes[]=404&methods[0]=get&contexts[]=web&contexts[1]=cli',
        {
          ...usual,
          filters: {
            contexts: { values: ['web', 'cli'], mode: 'additive' },
            http_status_codes: { values: ['5xx', '404'], mode: 'additive' },
            methods: { values: ['get'], mode: 'additive' },
          },
        },
      ],
      [
        '&wt_slots%5B%5D=0-50&wt_slots_mode=-1&breakdown_dimension=stdout',
        { ...usual, dimension: 'stdout', filters: { ...web, wt_slots: { values: ['0-50'], mode: 'subtractive' } } },
      ],
    ];
    for (const [query, question] of asked) {
      const { json, status } = await ask(`server/transactions-break-down?${range}${query}`);
      expect(status).toBe(200);
      const wanted = referenceBreakdown(records, question);
      const rows = json.transactions.data.map(({ _links, ...row }: { _links: object }) => row);
      expect(close(rows)).toEqual(close(wanted.rows));
      expect(close(json.top_hits_timeline.data)).toEqual(close(wanted.timeline));
    }
  });

  test('tells how it was understood, and its rows lead on', async () => {
    const { ask, scope, projectId, environmentId } = await environment();
    home.platform.metrics.append('transactions', [sampleTransaction(scope, start * 1000, { transaction: 'a b&c' })]);
    await home.platform.metrics.settled();
    const { json } = await ask(`server/transactions-break-down?${hour}`);
    expect(json).toMatchObject({
      _from: start,
      _to: start + 3600,
      _grain: 30,
      _project_id: projectId,
      _environment_id: environmentId,
      _branch_machine_name: scope.environment,
      _contexts: ['web'],
      _contexts_mode: 'additive',
      _wt_slot: [],
      _wt_slot_mode: 'subtractive',
      _breakdown_limit: 200,
      _breakdown_dimension: 'wt',
      _sort: 'impact',
      _distribution_cost: 'wt',
    });
    const { top_spans, profiles, recommendations } = json.transactions.data[0]._links;
    for (const { href } of [top_spans, profiles, recommendations]) {
      const { pathname, search } = new URL(href);
      expect((await owner.send('GET', pathname + search)).status).toBe(200);
    }
    expect((await owner.send('GET', new URL(top_spans.href).pathname + new URL(top_spans.href).search)).json._transactions).toEqual([
      'a b&c',
    ]);
  });

  test('is refused with every rule that was broken, without a word to those who may not see it, and where it would be too much', async () => {
    const { ask, projectId, environmentId } = await environment();
    const refused = await ask(`server/transactions-break-down?from=${start}&to=${start}&grain=7&breakdown_limit=301&contexts[]=ssh`);
    expect(refused.status).toBe(400);
    expect(refused.json).toEqual({
      type: 'https://tools.ietf.org/html/rfc2616#section-1',
      title: 'Please ensure parameters are correct.',
      status: 400,
      violations: {
        to: ['The to timestamp must be greater than the from timestamp.'],
        breakdown_limit: ['This value should be between 1 and 300.'],
        contexts: ['Each value should be one of web, cli.'],
      },
    });
    const stranger = await home.person();
    const hidden = await ask(`server/transactions-break-down?${hour}`, stranger);
    const absent = await owner.send('GET', `/projects/absent/environments/main/observability/server/transactions-break-down?${hour}`);
    const noBranch = await owner.send('GET', `/projects/${projectId}/environments/none/observability/server/transactions-break-down`);
    for (const { status, text } of [hidden, absent, noBranch]) expect([status, text]).toEqual([403, '']);
    const viewer = await letIn(projectId, ['staging:viewer']);
    expect((await ask(`server/transactions-break-down?${hour}`, viewer)).status).toBe(200);
    const tooMuch = await ask(`server/transactions-break-down?from=0&to=${start}`);
    expect(tooMuch.status).toBe(499);
    expect(tooMuch.json).toEqual({
      error: 'Too much data fetched',
      message: 'Please reduce the time range or add more filters to narrow down the query',
    });
    expect(fill(path, { projectId, environmentId })).toContain('feature%2Fsample');
  });
});

test('questions that take long keep nobody from anything else: neither who asks, nor other organizations, and nobody has too many waiting', async () => {
  const { ask } = await environment();
  const other = await home.person();
  const { projectId, environmentId } = await sampleEnvironment(other);
  const { metrics } = home.platform;
  const { breakdown } = metrics;
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  metrics.breakdown = async (question) => {
    begun.push(question.project);
    await gate.promise;
    return { rows: [], timeline: [], isExact: true };
  };
  try {
    // One more than may wait: whichever comes last is refused at once, and all others are answered when the gate opens.
    const asked = Array.from({ length: 21 }, () => ask(`server/transactions-break-down?${hour}`));
    expect((await Promise.race(asked)).status).toBe(429);
    await expect.poll(() => begun.length).toBe(2);
    expect((await owner.send('GET', '/users/me')).status).toBe(200);
    const theirs = other.send('GET', `${fill(path, { projectId, environmentId })}/observability/server/transactions-break-down?${hour}`);
    await expect.poll(() => begun.slice(2)).toEqual([projectId]);
    gate.resolve();
    const statuses = await Promise.all([...asked, theirs].map(async (reply) => (await reply).status));
    expect(statuses.filter((status) => status !== 200)).toEqual([429]);
  } finally {
    gate.resolve();
    metrics.breakdown = breakdown;
  }
});

test('hostile values of filters find nothing and break nothing', async () => {
  const { ask, scope } = await environment();
  home.platform.metrics.append('transactions', [sampleTransaction(scope, start * 1000)]);
  await home.platform.metrics.settled();
  for (const value of ['%00', "' or 1=1 --", '%ff', '%ED%A0%80', '%F0%9D%95%B3', 'a'.repeat(5000), '__proto__'])
    expect((await ask(`server/transactions-break-down?${hour}&transactions[]=${value}`)).json.transactions.data).toEqual([]);
});

test('the server is told over time: averages, requests per minute, and what its apps used together', async () => {
  const { ask, scope, projectId, environmentId } = await environment();
  await deploySample(home.platform, { projectId, environmentId });
  const { metrics } = home.platform;
  metrics.append('transactions', [
    sampleTransaction(scope, start * 1000, { wallTime: 1000, output: 10, peakMemory: 100 }),
    sampleTransaction(scope, (start + 1) * 1000, { wallTime: 3000, output: 30, peakMemory: 300 }),
    sampleTransaction(scope, (start + 601) * 1000, { context: 'cli', status: 0 }),
  ]);
  metrics.append('samples', [
    sampleUse(scope, start * 1000, { cpuUsed: 1 }),
    sampleUse(scope, (start + 10) * 1000, { cpuUsed: 3 }),
    sampleUse(scope, start * 1000, { instance: 'api.1', cpuUsed: 0.5 }),
    sampleUse(scope, start * 1000, { service: 'database', instance: 'database.0', cpuUsed: 7 }),
  ]);
  await metrics.settled();
  const keys = ['wt', 'mu', 'pmu', 'load', 'stdout', 'rpms'].map((key) => `keys[]=${key}`).join('&');
  const { json } = await ask(`server?${hour}&grain=600&${keys}`);
  expect(json.server.total).toBe(2);
  expect(json.server.data.length).toBe(6);
  expect(json.server.data[0]).toEqual({ timestamp: start, wt: 2000, pmu: 200, stdout: 20, rpms: 0.2, load: 2.5, mu: 2 ** 28 });
  expect(json.server.data[1]).toEqual({ timestamp: start + 600 });
  const oneInstance = await ask(`server?${hour}&grain=600&keys[]=load&instances[]=api.1`);
  expect(oneInstance.json.server.data[0]).toEqual({ timestamp: start, load: 0.5 });
  expect((await ask(`server?${hour}`)).json.violations).toEqual({ keys: ['This value is required.'] });
  const caches = await ask(`server/caches?${hour}&grain=1800`);
  expect(caches.json.data).toEqual([{ timestamp: start }, { timestamp: start + 1800 }]);
  expect((await ask(`server/caches?from=0&to=${start}`)).status).toBe(499);
});

test('spans are listed with what there is to filter them by', async () => {
  const { ask, scope } = await environment();
  home.platform.metrics.append('spans', [
    sampleSpan(scope, start * 1000),
    sampleSpan(scope, start * 1000, { trace: '2', wallTime: 40_000, spanTime: 15_000 }),
    sampleSpan(scope, start * 1000, { trace: '2', span: 'render', label: 'render', service: 'api', wallTime: 40_000, spanTime: 1000 }),
  ]);
  await home.platform.metrics.settled();
  const { json } = await ask(`server/top-spans?${hour}&sort=count`);
  expect(json.top_spans.data).toMatchObject([
    { id: 'select 1', label: 'SELECT 1', count: 2, wt: 10_000, percentage: 1, request_wt: 30_000, service_name: 'db', metrics: [] },
    { id: 'render', count: 1, percentage: 0.5 },
  ]);
  expect(json.advanced_filters.fields.frameworks).toEqual({ distinct_values: 1, type: 'string', values: [{ value: 'express', count: 3 }] });
});

test('traffic is told by URL in milliseconds, by address and program in seconds; addresses only to those who may read logs', async () => {
  const { ask, scope, projectId } = await environment();
  home.platform.metrics.append('requests', [
    sampleRequest(scope, start * 1000),
    sampleRequest(scope, start * 1000, { url: '/slow', wallTime: 60_000, status: 503, userAgent: 'bot' }),
  ]);
  await home.platform.metrics.settled();
  const { json } = await ask(`http/breakdown/urls?${hour}&top_hits_count=1&code_slots_mode=-1`);
  expect(json.breakdown).toMatchObject({
    kind: 'url',
    total: 2,
    data: [
      { url: '/slow', method: 'GET', impact: 60, average: 60, p_96: 60, count: 1, top_hit: true },
      { url: '/', impact: 20, top_hit: false },
    ],
  });
  expect(json).toMatchObject({ _breakdown_top_hits: 1, _code_slots: [], _code_slots_mode: '-1' });
  expect(json.top_hits_timeline.data[0]).toEqual({
    timestamp: start,
    _total_consumed: 80,
    _total_count: 2,
    request_size: 200,
    response_size: 1000,
    urls: { 'GET-/slow': { count: 1, impact: 60 } },
    codes: { UNKNOWN: 0, '1XX': 0, '2XX': 1, '3XX': 0, '4XX': 0, '5XX': 1 },
  });
  expect(json.top_hits_timeline.data[1]).toEqual({ timestamp: start + json._grain });
  expect(json.filters.fields.codes.values).toEqual([
    { value: '200', count: 1 },
    { value: '503', count: 1 },
  ]);
  const agents = await ask(`http/breakdown/user-agents?${hour}&request_duration_slots[]=50-100`);
  expect(agents.json.breakdown.data).toEqual([
    { name: 'bot', impact: 100, average: 0.06, p_50: 0.06, p_96: 0.06, count: 1, top_hit: true },
  ]);
  const viewer = await letIn(projectId, ['staging:viewer']);
  expect((await ask(`http/breakdown/ips?${hour}`)).json.breakdown.data[0].name).toBe('192.0.2.1');
  expect((await ask(`http/breakdown/ips?${hour}`, viewer)).status).toBe(403);
  expect((await ask(`http/breakdown/urls?${hour}&methods[]=FETCH`)).json.violations).toHaveProperty('methods');
});

test('resources are told by service over time, summed up by instance, and of one service', async () => {
  const { ask, scope } = await environment();
  const { metrics } = home.platform;
  metrics.append('samples', [
    sampleUse(scope, start * 1000),
    sampleUse(scope, start * 1000, { instance: 'api.1', cpuUsed: 0.75 }),
    sampleUse(scope, start * 1000, { service: 'router', instance: 'router.0' }),
  ]);
  metrics.append('mounts', [sampleMount(scope, start * 1000), sampleMount(scope, (start + 600) * 1000, { diskUsed: 2 ** 21 })]);
  await metrics.settled();
  const overview = await ask(`resources/overview?${hour}&grain=600&types[0]=cpu&types[1]=disk&aggs[0]=avg`);
  expect(overview.json.data.length).toBe(6);
  const mountpoints = { '/mnt': { disk_used: { avg: 2 ** 20 }, disk_limit: { max: 2 ** 30 } } };
  expect(overview.json.data[0].services).toEqual({
    api: { cpu_used: { avg: 0.5 }, cpu_limit: { max: 0.5 }, mountpoints },
    router: { cpu_used: { avg: 0.25 }, cpu_limit: { max: 0.5 }, mountpoints: {} },
  });
  // What was wanted is there, also where nothing was measured of it.
  expect(overview.json.data[1].services.api).toMatchObject({ cpu_used: {}, cpu_limit: {} });
  expect(overview.json.data[2]).toEqual({ timestamp: start + 1200 });
  const one = await ask(`resources/overview?${hour}&services_mode=1&services[0]=router`);
  expect(Object.keys(one.json.data[0].services)).toEqual(['router']);
  expect(one.json._grain).toBe(60);
  const summary = await ask(`resources/summary?${hour}&types[]=memory&aggs[]=max`);
  expect(Object.keys(summary.json.data.services.api)).toEqual(['api.0', 'api.1']);
  expect(summary.json.data.services.api['api.1']).toEqual({ memory_used: { max: 2 ** 27 }, memory_limit: { max: 2 ** 28 } });
  const service = await ask(`resources/service/api?${hour}&types[]=cpu`);
  expect(service.json._service).toBe('api');
  expect(service.json.data[0].instances['api.1'].cpu_used).toMatchObject({ min: 0.75, max: 0.75, stddev: 0, p99: 0.75 });
});

test('the entrypoint tells what is kept, and its links lead to something', async () => {
  const { at, projectId, environmentId } = await environment();
  await deploySample(home.platform, { projectId, environmentId });
  const { json } = await owner.send('GET', at);
  expect(json.data_retention.server_monitoring).toEqual({ retention_period: 80_640, max_range: 20_160, recommended_default_range: 1440 });
  expect(json.retention).toEqual({ resources: 43_200, logs: 43_200, http_traffic: 43_200, continuous_profiling: 0 });
  const { json: capabilities } = await owner.send('GET', `/projects/${projectId}/capabilities`);
  expect(capabilities.metrics.max_range).toBe(`${json.data_retention.resources.max_range / 60}h`);
  expect(Object.keys(json._links.resources_by_service)).toContain('router');
  const { resources_by_service, ...links } = json._links as Record<string, { href: string }>;
  const services = Object.values(resources_by_service as unknown as Record<string, { href: string }>);
  for (const { href } of [...Object.values(links), ...services])
    expect([200, 400]).toContain((await owner.send('GET', new URL(href).pathname)).status);
  const shown = await owner.send('GET', fill(path, { projectId, environmentId }));
  expect(shown.json._links['#observability-pipeline'].href).toBe(`/api${at}`);
});

test('of profiles there are none, and that is what is told', async () => {
  const { at, ask } = await environment();
  expect((await ask('profiles?sort_by=wt&page=2')).json).toMatchObject({ profiles: [], total: 0, page: 2 });
  expect((await ask('profiles?limit=0')).json.violations).toEqual({ limit: ['must be at least 1'] });
  for (const part of ['profile', 'subprofiles', 'graph', 'timeline']) {
    const { status, json } = await ask(`profiles/${crypto.randomUUID()}/${part}`);
    expect([status, json.message]).toEqual([404, 'No such profile.']);
    expect((await ask(`profiles/${crypto.randomUUID()}/${part}`, await home.person())).status).toBe(403);
  }
  const profiling = at.replace(/observability$/, 'continuous-profiling');
  const timeline = await owner.send('GET', `${profiling}/app/api?${hour}&profile_type=inuse_space`);
  expect(timeline.json).toMatchObject({ from: start, grain: 60, unit: 'bytes', aggregation_type: 'avg' });
  expect(mismatchesWithPublished(`${path}/continuous-profiling/app/{app}`, timeline.json)).toEqual([]);
  const flames = await owner.send('GET', `${profiling}/app/api/merge`);
  expect(flames.json).toMatchObject({ flamebearer: { numTicks: 0 }, _profile_type: 'cpu', _sample_unit: 'nanoseconds' });
  expect(mismatchesWithPublished(`${path}/continuous-profiling/app/{app}/merge`, flames.json)).toEqual([]);
  expect((await owner.send('GET', `${profiling}/app/api/merge?out=pprof`)).json).toEqual({
    code: 400,
    message: 'out: Nothing was profiled that could be told as pprof.',
  });
  const refused = await owner.send('GET', `${profiling}?from=2&to=1`);
  expect([refused.status, refused.json]).toEqual([400, { code: 400, message: "from: invalid 'from' parameter" }]);
});

describe('the logs of an environment', () => {
  async function withLogs() {
    const { projectId, environmentId } = await sampleLog(owner);
    const scope: Scope = scopeIn(projectId, environmentId);
    const folder = logsOf(logsFolder(home.platform.config), `${scope.project}-${scope.environment}`);
    const write = (name: 'app' | 'access' | 'error', text: string) => appendLog(logFile(folder, 'app', name), text);
    const at = `${fill(path, { projectId, environmentId })}/observability/logs`;
    const now = Math.floor(Date.now() / 1000);
    return { projectId, environmentId, write, at, range: `from=${now - 600}&to=${now + 600}` };
  }

  test('are told page by page, in both orders, each line once', async () => {
    const { write, at, range } = await withLogs();
    await write('app', Array.from({ length: 25 }, (_, nth) => `line ${nth}\n`).join(''));
    await write('error', 'broken\n');
    for (const order of ['ASC', 'DESC']) {
      const bodies: string[] = [];
      let next: string | undefined = `${at}/query?${range}&order=${order}&limit=10&services[]=app`;
      for (let page = 0; next && page < 5; page += 1) {
        const { json } = await owner.send('GET', next);
        bodies.push(...json.data.map(({ body }: { body: string }) => body));
        expect(json._has_more_results).toBe(page < 2);
        const href: string | undefined = json._links.next?.href;
        next = href && new URL(href).pathname + new URL(href).search;
      }
      const told = order === 'ASC' ? bodies : bodies.toReversed();
      expect(told.filter((body) => body.startsWith('line'))).toEqual(Array.from({ length: 25 }, (_, nth) => `line ${nth}`));
      expect(told.toSorted()).toEqual(['broken', 'hello', ...Array.from({ length: 25 }, (_, nth) => `line ${nth}`)].toSorted());
    }
  });

  test('are narrowed down by kind, service and severity, and counted', async () => {
    const { write, at, range } = await withLogs();
    await write('app', 'ERROR no database\n{"level":"warn","message":"slow"}\n');
    await write('error', 'broken\n');
    const bodies = async (query: string) =>
      (await owner.send('GET', `${at}/query?${range}&order=ASC&${query}`)).json.data.map(({ body }: { body: string }) => body);
    expect(await bodies('severities[]=ERROR&log_kinds[]=application')).toEqual(['ERROR no database']);
    expect(await bodies('severities[]=WARNING')).toEqual(['{"level":"warn","message":"slow"}']);
    expect(await bodies('log_kinds[]=platform')).toEqual(['broken']);
    expect(await bodies('services[]=other')).toEqual([]);
    expect(await bodies('hosts[]=elsewhere')).toEqual([]);
    const overview = await owner.send('GET', `${at}/overview?${range}&grain=1200`);
    expect(overview.json._total).toBe(4);
    const counted = overview.json.data.flatMap(({ severities = {} }) => Object.entries(severities));
    expect(Object.fromEntries(counted)).toEqual({ INFO: 1, ERROR: 2, WARNING: 1 });
    const { json } = await owner.send('GET', `${at}/query?${range}&cursor=rubbish&limit=1001`);
    expect(Object.keys(json.violations)).toEqual(['cursor', 'limit']);
  });

  test('are neither for those who may only look, nor for those whom the app does not let in', async () => {
    const { projectId, environmentId, at, range } = await withLogs();
    const [viewer, contributor] = await Promise.all(['viewer', 'contributor'].map((role) => letIn(projectId, [`staging:${role}`])));
    expect((await viewer?.send('GET', `${at}/query?${range}`))?.status).toBe(403);
    expect((await contributor?.send('GET', `${at}/query?${range}`))?.json.data).toHaveLength(1);
    await deploySample(home.platform, { projectId, environmentId });
    await sql`update deployments set generations = '{"app": 1}', model = jsonb_set(model::jsonb, '{applications,app}', '{"access": {"ssh": "admin"}}')::json
      where project_id = ${projectId}`.execute(home.platform.db);
    expect((await contributor?.send('GET', `${at}/query?${range}`))?.json.data).toEqual([]);
  });
});

/** Sums of floats may differ in their last digits. */
const close = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_key, each: unknown) => (typeof each === 'number' ? Number(each.toPrecision(12)) : each));
