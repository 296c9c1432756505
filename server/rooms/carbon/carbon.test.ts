import { beforeAll, describe, expect, test } from 'vitest';
import type { MountSampleRecord, RequestRecord, SampleRecord } from '../../drivers/metrics/metrics.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment, sampleMember, sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { machineName } from '../environments/public.ts';
import { closeCarbonDays } from './close-days.ts';
import { dayAt, daysAfter, startOf } from '../../kernel/days.ts';
import { methodOf } from './method.ts';

/** A machine's electricity, and a building, that are easy to work out. */
const settings = { OFFSHOOT_ENERGY: 'idle=1,full=3,memory=0.5,disk=1.2,network=1,pue=1.5', OFFSHOOT_REGION_CARBON_INTENSITY: '100' };

let home: TestPlatform;
let owner: Person;
let organization: string;
let project: string;
let deleted: string;
let environment: { projectId: string; environmentId: string };

/** Closed by now, at whatever hour this runs. */
const earlier = Date.now() - 2 * 86_400_000;
const now = Date.now() - 60_000;

const sampleAt = (time: number, of: { project: string; environment: string }, more: Partial<SampleRecord> = {}): SampleRecord => ({
  ...of,
  time,
  service: 'app',
  instance: 'app.0',
  seconds: 10,
  cpuUsed: 0.5,
  cpuLimit: 1,
  memoryUsed: 1e9,
  memoryLimit: 2e9,
  swapUsed: 0,
  swapLimit: 0,
  cpuPressure: 0,
  memoryPressure: 0,
  ioPressure: 0,
  irqPressure: 0,
  receivedBytes: 1e9,
  sentBytes: 1e9,
  ...more,
});

/** The same sum, in another order and in floating point: micrograms. */
function worked({ cpuSeconds = 0, memoryGbSeconds = 0, diskTbSeconds = 0, trafficGb = 0 }) {
  const { processors, memoryBytes } = methodOf(home.platform.config);
  const idle = (memoryGbSeconds * processors) / (memoryBytes / 1e9);
  return ((cpuSeconds * 2 + idle + memoryGbSeconds * 0.5 + diskTbSeconds * 1.2) / 3600 + trafficGb) * 1.5 * 100 * 1000;
}

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, settings);
  owner = await home.person();
  ({ organization_id: organization } = await sampleOrganization(owner));
  ({ projectId: project } = await sampleProject(owner, organization));
  ({ projectId: deleted } = await sampleProject(owner, organization));
  environment = await sampleEnvironment(owner);
  const { platform } = home;
  await platform.db.updateTable('projects').set({ status: 'deleted' }).where('id', '=', deleted).execute();
  const mine = { project, environment: machineName('main', project) };
  const branch = { project: environment.projectId, environment: machineName(environment.environmentId, environment.projectId) };
  const mount: MountSampleRecord = {
    ...branch,
    time: now,
    service: 'app',
    instance: 'app.0',
    seconds: 10,
    mount: '/data',
    diskUsed: 5e11,
    diskLimit: 1e12,
    inodesUsed: 1,
    inodesLimit: 9,
  };
  const request: RequestRecord = {
    ...branch,
    time: now,
    application: 'app',
    domain: 'example.org',
    method: 'GET',
    url: '/',
    ip: '192.0.2.1',
    userAgent: '',
    status: 200,
    wallTime: 1,
    requestBytes: 5e8,
    responseBytes: 5e8,
  };
  platform.metrics.append('samples', [
    sampleAt(earlier, mine),
    sampleAt(earlier, { project: deleted, environment: 'main-gone' }, { cpuUsed: 1 }),
    sampleAt(now, mine, { cpuUsed: 2 }),
    sampleAt(now, branch),
  ]);
  platform.metrics.append('mounts', [mount]);
  platform.metrics.append('requests', [request]);
  await platform.metrics.settled();
  await closeCarbonDays.run(platform, new AbortController().signal);
});

const at = (path: string, query = '') => owner.send('GET', `${path}/metrics/carbon${query}`);
const ofOrganization = (query?: string) => at(`/organizations/${organization}`, query);

interface Value {
  value: number;
  start_time: string;
}
const micrograms = (value: number) => Math.round(value * 1e9);
const onDay = (values: Value[], moment: number) =>
  values.find(({ start_time }) => start_time === `${dayAt(moment)}T00:00:00.000Z`)?.value ?? NaN;
/** Of decimals as they are printed: exact. */
const sum = (values: readonly number[]) => values.reduce((total, value) => total + BigInt(value.toFixed(9).replace('.', '')), 0n);

describe('the carbon of an organization', () => {
  test('is told by project and day: closed days and the one under way, deleted projects too, and nothing as 0', async () => {
    const { status, json } = await ofOrganization();
    expect(status).toBe(200);
    expect(json).toMatchObject({ organization_id: organization, meta: { interval: 'day', units: 'kg CO2e' } });
    expect(json.projects.map((each: { project_id: string }) => each.project_id)).toEqual([project, deleted]);
    const [mine, gone] = json.projects;
    expect(mine).toMatchObject({ project_title: 'Sample' });
    expect(mine.values.length).toBe(30);
    expect(Math.abs(micrograms(onDay(mine.values, earlier)) - worked({ cpuSeconds: 5, memoryGbSeconds: 10 }))).toBeLessThanOrEqual(1);
    expect(Math.abs(micrograms(onDay(mine.values, now)) - worked({ cpuSeconds: 20, memoryGbSeconds: 10 }))).toBeLessThanOrEqual(1);
    expect(Math.abs(micrograms(onDay(gone.values, earlier)) - worked({ cpuSeconds: 10, memoryGbSeconds: 10 }))).toBeLessThanOrEqual(1);
    expect(mine.values.filter(({ value }: Value) => value === 0).length).toBe(28);
    const values = [...mine.values, ...gone.values].map(({ value }: Value) => value);
    expect(sum(values)).toBe(sum([json.total]));
  });

  test('adds up the same by month and by year', async () => {
    const [from, to] = [`${Number(dayAt(earlier).slice(0, 4))}-01-01`, `${Number(dayAt(now).slice(0, 4)) + 1}-01-01`];
    const [months, years] = await Promise.all(
      ['month', 'year'].map(async (interval) => (await ofOrganization(`?from=${from}&to[lt]=${to}&interval=${interval}`)).json),
    );
    expect(months.total).toBe(years.total);
    expect(months.total).toBe((await ofOrganization()).json.total);
    expect(years.meta).toEqual({ from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z`, interval: 'year', units: 'kg CO2e' });
  });

  test('`to` is exclusive, and told as it was truncated; `from` may be spelled as a filter', async () => {
    const day = dayAt(earlier);
    const { json } = await ofOrganization(`?from[gte]=${day}&to=${daysAfter(day, 1)}T18:00:00Z`);
    expect(json.meta).toMatchObject({ from: `${day}T00:00:00.000Z`, to: `${daysAfter(day, 1)}T00:00:00.000Z` });
    expect(json.projects[0].values.length).toBe(1);
    expect((await ofOrganization(`?from=${daysAfter(day, -1)}&to=${day}`)).json).toMatchObject({
      total: 0,
      projects: [{ values: [{ value: 0 }] }],
    });
  });

  test.for([
    'from=soon',
    'from[gt]=2026-01-01',
    'to=2026-13-01',
    'from=2026-02-01&to=2026-01-01',
    'interval=week',
    'from=1990-01-01',
    'page=2',
  ])('?%s is refused, with the parameter by name', async (query) => {
    const { status, json, headers } = await ofOrganization(`?${query}`);
    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(json.error).toEqual(expect.any(String));
    expect(Object.keys(json.detail)).toEqual([expect.stringMatching(/^(from|to|interval|page)$/)]);
  });

  test('is for those who may list its projects: others are told 403, strangers 404', async () => {
    const member = await home.person();
    await home.platform.db
      .insertInto('organization_members')
      .values({ organization_id: organization, user_id: member.user.id, permissions: [] })
      .execute();
    await sampleMember(owner, organization);
    const replies = await Promise.all([
      member.send('GET', `/organizations/${organization}/metrics/carbon`),
      (await home.person()).send('GET', `/organizations/${organization}/metrics/carbon`),
      owner.send('GET', '/organizations/01AAAAAAAAAAAAAAAAAAAAAAAA/metrics/carbon'),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([403, 404, 404]);
    for (const { json, headers } of replies) {
      expect(json.error).toEqual(expect.any(String));
      expect(headers['content-type']).toBe('application/problem+json');
    }
  });
});

test('the carbon of a project is told by its organization, and of no other', async () => {
  const { json } = await at(`/organizations/${organization}/projects/${project}`);
  const { json: all } = await ofOrganization();
  expect(json).toMatchObject({ project_id: project, project_title: 'Sample', meta: all.meta, values: all.projects[0].values });
  expect(sum(json.values.map(({ value }: Value) => value))).toBe(sum([json.total]));
  const { organization_id: other } = await sampleOrganization(owner);
  expect((await at(`/organizations/${other}/projects/${project}`)).status).toBe(404);
  expect((await at(`/organizations/${organization}/projects/${deleted}`)).status).toBe(404);
});

test('an environment is told its energy too, and where it was used', async () => {
  const { projectId, environmentId } = environment;
  const path = `/projects/${projectId}/environments/${encodeURIComponent(environmentId)}`;
  const { json } = await at(path);
  expect(json).toMatchObject({ project_id: projectId, environment_id: environmentId, meta: { units: 'kg CO2e', energy_units: 'kWh' } });
  const times = [json.meta.from, json.meta.to, ...json.values.map(({ start_time }: Value) => start_time)];
  // Inside a project times are told with microseconds.
  expect(times.filter((time) => !/^\d{4}-\d\d-\d\dT00:00:00\.000000\+00:00$/.test(time))).toEqual([]);
  const expected = worked({ cpuSeconds: 5, memoryGbSeconds: 10, diskTbSeconds: 5, trafficGb: 1 });
  expect(Math.abs(micrograms(json.total) - expected)).toBeLessThanOrEqual(1);
  expect(json.energy.parts).toMatchObject({ network: 0.0015, processors: 0.000004167, disk: 0.0000025 });
  expect(sum(Object.values<number>(json.energy.parts))).toBe(sum([json.energy.total]));
  expect(sum(json.values.map(({ energy }: { energy: number }) => energy))).toBe(sum([json.energy.total]));
  expect((await owner.send('GET', path)).json._links['#carbon'].href).toBe(`/api${path}/metrics/carbon`);
  expect((await at(`${path}-missing`)).status).toBe(404);
});

test('what a day was stays, whatever is set or measured later', async () => {
  const day = dayAt(earlier);
  const before = (await ofOrganization(`?from=${day}&to=${daysAfter(day, 1)}`)).json;
  home.platform.metrics.append('samples', [sampleAt(startOf(day) + 1000, { project, environment: machineName('main', project) })]);
  await home.platform.metrics.settled();
  const config = { ...home.platform.config, energy: { ...home.platform.config.energy, pue: 3 } };
  await closeCarbonDays.run({ ...home.platform, config }, new AbortController().signal);
  expect((await ofOrganization(`?from=${day}&to=${daysAfter(day, 1)}`)).json).toEqual(before);
  expect((await home.platform.db.selectFrom('carbon_methods').selectAll().execute()).length).toBe(2);
});
