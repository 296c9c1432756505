import { beforeAll, expect, test } from 'vitest';
import { shortId } from '../../kernel/id.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { insertSession } from './queries.ts';

const limits = { perUserMax: 2, perInstanceMax: 100, perOrganizationMax: 5 };

let home: TestPlatform;
beforeAll(async () => {
  home = await openTestPlatform();
});

test('an organization has its share of sessions over SSH, however many people and projects it has; others have theirs', async () => {
  const [mallory, ada] = [await home.person(), await home.person()];
  const { organization_id, projectId: first } = await sampleProject(mallory);
  const [{ projectId: second }, { projectId: modest }] = [await sampleProject(mallory, organization_id), await sampleProject(ada)];
  const begin = (user_id: string, project_id: string) =>
    insertSession(
      home.platform.db,
      { id: shortId(), user_id, project_id, environment_id: 'main', runs: 'app', instance: 0, address: '192.0.2.1', via: 'key' },
      limits,
    );
  const people = await Promise.all(Array.from({ length: 4 }, async () => (await home.person()).user.id));
  const outcomes: (string | undefined)[] = [];
  for (const [n, person] of people.entries())
    outcomes.push(await begin(person, n % 2 === 0 ? first : second), await begin(person, n % 2 === 0 ? second : first));
  expect(outcomes).toEqual([...Array.from({ length: 5 }), 'organization', 'organization', 'organization']);
  expect(await begin(ada.user.id, modest)).toBeUndefined();
});
