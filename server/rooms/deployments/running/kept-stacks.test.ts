import { expect, test } from 'vitest';
import { openTestPlatform, type Person } from '../../../testing/platform.ts';
import { sampleOrganization, sampleProject } from '../../../testing/samples.ts';
import { keptStacks } from './kept-stacks.ts';

test('those of one organization, however many do not start, are not all looked at before those of another', async () => {
  const home = await openTestPlatform();
  const projectsOf = async (owner: Person, count: number) => {
    const { organization_id } = await sampleOrganization(owner);
    return Promise.all(Array.from({ length: count }, async () => (await sampleProject(owner, organization_id)).projectId));
  };
  const greedy = await projectsOf(await home.person(), 8);
  const modest = await projectsOf(await home.person(), 2);
  for (const project_id of [...greedy, ...modest])
    await home.platform.db.updateTable('environments').set({ stack_id: project_id }).where('project_id', '=', project_id).execute();
  const order = (await keptStacks(home.platform.db)).map(({ project_id }) => modest.includes(project_id));
  expect(order.slice(0, 4).filter((isModest) => isModest)).toHaveLength(2);
  expect(order).toHaveLength(10);
});
