import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleLog } from '../../../testing/samples.ts';
import { hear, tellNews, unknownCondition, type Condition } from './forwarding-news.ts';
import { wantedForwardings, type WantedForwarding } from './wanted-forwardings.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
});

async function openForwarding() {
  const { projectId, environmentId } = await sampleLog(owner);
  const integrations = `/projects/${projectId}/integrations`;
  const { json } = await owner.send('POST', integrations, { type: 'httplog', url: 'https://logs.example.org/secret' });
  const { id } = json._embedded.entity;
  const wanted = (await wantedForwardings(home.platform)).find(({ integration }) => integration === id) as WantedForwarding;
  return {
    environmentId,
    tell: (condition: Condition, now: number) => tellNews(home.platform.db, wanted, condition, now),
    activities: async () => {
      const listed = (await owner.send('GET', `${integrations}/${id}/activities`)).json.toReversed();
      return listed as { id: string; type: string; result: string; text: string; environments: string[] }[];
    },
    logOf: async (activityId: string) => (await owner.send('GET', `/projects/${projectId}/activities/${activityId}/log`)).text,
  };
}

const minute = 60_000;

test('trouble is told once it has lasted a minute, and once over restarts; so is its end', async () => {
  const { environmentId, tell, activities, logOf } = await openForwarding();
  const condition = unknownCondition();
  hear(condition, { is: 'trouble', why: 'logs.example.org cannot be reached (ECONNREFUSED).' }, 0);
  await tell(condition, minute - 1);
  expect(await activities()).toEqual([]);
  await tell(condition, minute);
  await tell(condition, 2 * minute);
  const [told, ...others] = await activities();
  expect(others).toEqual([]);
  expect(told).toMatchObject({ type: 'integration.httplog', result: 'failure', environments: [environmentId] });
  expect(told?.text).toMatch(/^Logs of Sample are not taken by the \*\*httplog\*\* integration/);
  expect(await logOf(told?.id ?? '')).toContain('ECONNREFUSED');

  // Another process, which finds the sink as it was.
  const restarted = unknownCondition();
  hear(restarted, { is: 'trouble', why: 'still' }, 3 * minute);
  await tell(restarted, 4 * minute);
  expect(await activities()).toHaveLength(1);
  hear(restarted, { is: 'recovered' }, 5 * minute);
  await tell(restarted, 5 * minute);
  expect((await activities()).map(({ result }) => result)).toEqual(['failure', 'success']);
});

test('trouble that ended while nobody was there is told to be over with the first line that is taken', async () => {
  const { tell, activities } = await openForwarding();
  const condition = unknownCondition();
  hear(condition, { is: 'trouble', why: 'down' }, 0);
  await tell(condition, minute);
  const restarted = unknownCondition();
  await tell(restarted, 2 * minute);
  expect(await activities()).toHaveLength(1);
  hear(restarted, { is: 'sent', records: 1 }, 3 * minute);
  await tell(restarted, 3 * minute);
  expect((await activities()).at(-1)).toMatchObject({ result: 'success' });
});

test('lines that are missing are told together, once an hour', async () => {
  const { tell, activities, logOf } = await openForwarding();
  const condition = unknownCondition();
  hear(condition, { is: 'refused', records: 2, why: 'The sink answered 400.' }, 0);
  hear(condition, { is: 'refused', records: 3, why: 'The sink answered 400.' }, 0);
  hear(condition, { is: 'lost', log: 'app/app', bytes: 100 }, 0);
  await tell(condition, 0);
  hear(condition, { is: 'lost', log: 'app/app', bytes: 50 }, minute);
  await tell(condition, minute);
  const [told, ...others] = await activities();
  expect(others).toEqual([]);
  const log = await logOf(told?.id ?? '');
  expect(log).toContain('refused: 5. The sink answered 400.');
  expect(log).toContain('100 or more');
  await tell(condition, 60 * minute);
  expect(await activities()).toHaveLength(2);
});
