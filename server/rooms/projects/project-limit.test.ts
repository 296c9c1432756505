import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';
import { projectLimit } from './public.ts';

let home: TestPlatform;
beforeAll(async () => {
  home = await openTestPlatform();
});

const organizationMax = 2;
const projectsMany = 8;

/** What is held is held until the end of the test. */
function openWork() {
  const places = projectLimit(organizationMax);
  const over = Promise.withResolvers<void>();
  const seen = { begun: [] as string[], waits: 0 };
  const wait = async <T>(others: Promise<T>) => {
    seen.waits += 1;
    return others.finally(() => (seen.waits -= 1));
  };
  const begin = (name: string, project: string, is_urgent = false) =>
    places(home.platform.db, project, { activity: { is_urgent }, wait }, { signal: new AbortController().signal }, async () => {
      seen.begun.push(name);
      await over.promise;
    });
  return { begin, seen, end: over.resolve };
}

const projectsOf = async (owner: Person, count: number) => {
  const { organization_id } = await sampleOrganization(owner);
  const made = Array.from({ length: count }, async () => (await sampleProject(owner, organization_id)).projectId);
  return Promise.all(made);
};

test('projects share places by organization and by whoever owns it; what waits is known to wait', async () => {
  const [mallory, ada] = [await home.person(), await home.person()];
  const { begin, seen, end } = openWork();
  const [first, second, modest] = [await projectsOf(mallory, projectsMany), await projectsOf(mallory, 2), await projectsOf(ada, 1)];
  const all = first.map((project) => begin('first', project, true));
  await expect.poll(() => seen).toEqual({ begun: ['first', 'first'], waits: projectsMany - organizationMax });
  all.push(...second.map((project) => begin('second', project)));
  await expect.poll(() => seen.begun).toEqual(['first', 'first', 'second']);
  all.push(begin('modest', modest[0] ?? ''));
  await expect.poll(() => seen.begun).toEqual(['first', 'first', 'second', 'modest']);
  end();
  await Promise.all(all);
  expect(seen).toMatchObject({ waits: 0, begun: { length: projectsMany + 3 } });
});
