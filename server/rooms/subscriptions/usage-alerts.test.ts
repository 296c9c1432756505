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

test('the published options of a contract are kept and shown, each by itself', async () => {
  await owner.send('PATCH', path, { backups: 'daily' });
  const { json, status } = await owner.send('PATCH', path, { project_support_level: 'premium', project_title: 'Shop' });
  expect({ code: status, ...json }).toMatchObject({ code: 200, backups: 'daily', project_support_level: 'premium', project_title: 'Shop' });
});
