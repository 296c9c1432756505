import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { tellOfUse } from './usage-alerts.ts';

let home: TestPlatform;
let owner: Person;
let path: string;
let project_id: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person({ strong: true });
  const sample = await sampleProject(owner);
  project_id = sample.project_id;
  const { json } = await owner.send('GET', `/organizations/${sample.organization_id}/projects/${project_id}`);
  path = `/organizations/${sample.organization_id}/subscriptions/${json.subscription_id}`;
});

const look = () => tellOfUse.run(home.platform, new AbortController().signal);

test('whoever pays is told once a day when a project has used more than its alert says, and not before', async () => {
  const { db } = home.platform;
  const alerts = path.replace('/subscriptions/', '/alerts/subscriptions/') + '/usage';
  const set = { alerts: [{ id: 'ingress_requests', active: true, config: { threshold: 100 } }] };
  expect((await owner.send('PATCH', alerts, set)).json.current).toMatchObject([
    { id: 'ingress_requests', config: { threshold: { amount: 100 } } },
  ]);
  await look();
  expect(await home.mail(owner.user.email)).toEqual([]);

  const organization_id = path.split('/')[2] ?? '';
  const metered = { organization_id, project_id, environment: 'main', service: 'app', kind: 'router' };
  const { id } = await db.insertInto('metered').values(metered).returning('id').executeTakeFirstOrThrow();
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
  await db.insertInto('usage_hours').values({ metered_id: id, hour, requests: '150' }).execute();
  await look();
  await look();
  expect(await home.mail(owner.user.email)).toMatchObject([{ subject: 'Sample has used 150 requests this month' }]);
  const { json } = await owner.send('GET', `/alerts/subscriptions/${path.split('/').at(-1)}/usage`);
  expect(json.current).toMatchObject([{ alerts_sent: 1, last_alert_at: expect.any(String) }]);
});

test('an alert is told of behind however many others that are not reached', async () => {
  const { db } = home.platform;
  // Copies of the project that used nothing. They come before it, and one behind.
  await sql`insert into projects overriding system value
    select (jsonb_populate_record(null::projects, to_jsonb(projects) || jsonb_build_object('id', prefix || lpad(number::text, 12, '0'), 'subscription_id', 100000 + row_number() over ()))).*
    from projects, generate_series(1, 510) as number, lateral (select case number when 510 then 'zz' else '0' end as prefix) as named where projects.id = ${project_id}`.execute(
    db,
  );
  await sql`insert into usage_alerts (project_id, id, threshold)
    select id, 'ingress_requests', 100 from projects where id <> ${project_id}`.execute(db);
  const lastProject = 'zz000000000510';
  await sql`update metered set project_id = ${lastProject} where project_id = ${project_id}`.execute(db);
  await look();
  const { rows } =
    await sql`select project_id, alerts_sent from usage_alerts where alerts_sent > 0 and project_id <> ${project_id}`.execute(db);
  expect(rows).toEqual([{ project_id: lastProject, alerts_sent: 1 }]);
  expect(await home.mail(owner.user.email)).toHaveLength(2);
});

test('the published options of a contract are kept and shown, each by itself', async () => {
  await owner.send('PATCH', path, { backups: 'daily' });
  const { json, status } = await owner.send('PATCH', path, { project_support_level: 'premium', project_title: 'Shop' });
  expect({ code: status, ...json }).toMatchObject({ code: 200, backups: 'daily', project_support_level: 'premium', project_title: 'Shop' });
});
