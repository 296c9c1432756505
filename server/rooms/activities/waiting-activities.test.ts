/** A line of activities has an end: whoever is there is told so, and what follows by itself still comes. */
import { expect, test } from 'vitest';
import { changeQuota, quotaLines } from '../../../cli/quota.ts';
import { shortId } from '../../kernel/id.ts';
import { commit, git, good, openSource } from '../../testing/git.ts';
import { sampleOrganization, sampleProject } from '../../testing/samples.ts';

const { home, owner, filledProject } = await openSource();
const { db } = home.platform;
const waitingMax = 5;

/** They hold no lane, so nobody begins them. */
const letWait = async (project_id: string, count: number) => {
  const ids = Array.from({ length: count }, () => shortId());
  const each = { project_id, type: 'environment.redeploy', queue: 'default', state: 'pending', input: '{}', is_cancellable: true };
  await db
    .insertInto('activities')
    .values(ids.map((id) => ({ id, ...each, environments: ['main'], environment_types: ['production'] })))
    .execute();
  return ids;
};

test('an organization with as many as may wait starts no more until one has ended, over HTTP or by a push; others do', async () => {
  const { id, copy } = await filledProject();
  const { organization_id } = await db.selectFrom('projects').select('organization_id').where('id', '=', id).executeTakeFirstOrThrow();
  const { name } = (await owner.send('GET', `/organizations/${organization_id}`)).json;
  expect(await changeQuota(db, ['organization', name, `activities=${waitingMax}`])).toContain(`activities 0 of ${waitingMax} waiting`);
  const [first] = await letWait(id, waitingMax);
  const sentence = `The organization ${name} has 5 activities waiting, and no more than 5 may wait at once. Try again when some of them have ended`;

  const { projectId: sibling } = await sampleProject(owner, (await sampleOrganization(owner)).organization_id);
  const setVariable = (project: string, variable: string) =>
    owner.send('POST', `/projects/${project}/variables`, { name: variable, value: 'x' });
  const refused = await setVariable(id, 'refused');
  expect(refused).toMatchObject({ status: 429, json: { message: expect.stringContaining(sentence) } });
  expect((await owner.send('GET', `/projects/${id}/variables`)).json).toEqual([]);
  expect((await setVariable(sibling, 'elsewhere')).status).toBe(201);

  await good(copy, 'checkout', '--quiet', 'dev');
  await commit(copy, { 'dev.txt': 'One too many.' });
  const before = await home.platform.git.branch(id, 'dev');
  expect(await git(copy, 'push', '-o', 'no-wait', 'origin', 'dev')).toMatchObject({ code: 1, said: expect.stringContaining(sentence) });
  expect(await home.platform.git.branch(id, 'dev')).toBe(before);
  expect((await quotaLines(db)).find((line) => line.includes(name))).toContain('activities 5 of 5 waiting');

  // What ends something is not refused.
  expect((await owner.send('DELETE', `/projects/${id}/environments/stage`)).status).toBeLessThan(300);

  expect((await owner.send('POST', `/projects/${id}/activities/${first}/cancel`, {})).status).toBe(200);
  const { said, code } = await git(copy, 'push', '-o', 'no-wait', 'origin', 'dev');
  expect({ said, code }).toMatchObject({ code: 0 });
});
