import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';
import type { BuildParts } from './build-app.ts';
import { buildApps } from './build-apps.ts';
import { hooksOf, modelOf, testApp, testWork, type TestWork } from './test-build.ts';

const openMilliseconds = 600_000;
const greedyProjects = 26;
const placesOfOne = Math.max(2, Math.floor(availableParallelism() / 2));
const sleeping = 'echo asleep; sleep 900';

describe.runIf(canRunContainers)(`builds of a greedy organization${whyNoContainers}`, () => {
  let containers: TestContainers;
  let home: TestPlatform;
  let parts: BuildParts;
  const greedy: Begun[] = [];

  beforeAll(async () => {
    containers = await openTestContainers();
    await containers.images.ensure('nodejs:22');
    home = await openTestPlatform();
    const { runtime, images, volumes } = containers;
    const { git, db, config } = home.platform;
    parts = { runtime, images, volumes, git, db, config };
  }, openMilliseconds);
  afterAll(async () => {
    for (const { work } of greedy) work.cancel();
    await Promise.all(greedy.map(({ ended }) => ended));
    await containers.close();
  });

  interface Begun {
    work: TestWork;
    ended: Promise<unknown>;
  }
  const projectOf = async (owner: Person, organizationId?: string) => {
    const { projectId } = await sampleProject(owner, organizationId);
    await parts.git.create(projectId, 'main');
    return projectId;
  };
  const begin = (project: string, hook: string, is_urgent = false): Begun => {
    const work: TestWork = { ...testWork(), activity: { is_urgent } };
    const commit = commitFiles(parts.git.path(project), undefined, { 'server.js': project });
    const asked = { project: { id: project, entropy: 'e'.repeat(56) }, environment: { id: 'main' }, commit, variables: [] };
    const building = buildApps(work, parts, { ...asked, model: modelOf(testApp({ hooks: hooksOf(hook) })) });
    return { work, ended: building.catch((error: unknown) => error) };
  };
  const says = ({ work }: Begun, text: string) => work.lines.some((line) => line.includes(text));
  const building = () => greedy.filter((one) => says(one, '    asleep'));
  const waiting = () => greedy.filter((one) => says(one, 'Waiting for other builds to end.'));

  test('leave a place to every other one, are cancelled whenever somebody wants it, and give their places to who has none', async () => {
    const [mallory, ada] = [await home.person(), await home.person()];
    const { organization_id } = await sampleOrganization(mallory);
    for (let n = 0; n < greedyProjects; n += 1) greedy.push(begin(await projectOf(mallory, organization_id), sleeping, true));
    await expect.poll(() => [building().length, waiting().length]).toEqual([placesOfOne, greedyProjects - placesOfOne]);

    // Somebody else builds as if nobody was there.
    const modest = begin(await projectOf(ada), 'echo modest');
    await modest.ended;
    expect(modest.work.lines.join('\n')).toMatch(/ {4}modest[^]*Storing the application/);
    expect(says(modest, 'Waiting')).toBe(false);
    expect(building()).toHaveLength(placesOfOne);

    // Who waits goes without ever having a place, who builds long before its sleep is over; then the next in line has the place.
    const [last] = waiting().slice(-1);
    last?.work.cancel();
    expect(await last?.ended).toMatchObject({ message: 'cancelled' });
    const [first] = building();
    first?.work.cancel();
    expect(await first?.ended).toMatchObject({ message: 'cancelled' });
    first?.work.lines.splice(0);
    await expect.poll(() => building().length).toBe(placesOfOne);
  });

  test('are no more at once than its quota allows', async () => {
    const owner = await home.person();
    const { organization_id } = await sampleOrganization(owner);
    await parts.db.insertInto('quotas').values({ organization_id, builds: 1 }).execute();
    const [one, two] = [
      begin(await projectOf(owner, organization_id), sleeping),
      begin(await projectOf(owner, organization_id), 'echo two'),
    ];
    await two.work.said('Waiting for other builds to end.');
    await one.work.said('    asleep');
    one.work.cancel();
    await two.ended;
    expect(says(two, '    two')).toBe(true);
  });
});
