import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { filesOf, openRunningProject, type RunningProject } from './test-running-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

describe.runIf(canRunContainers)(`what is asked for while something happens${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: RunningProject;

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
    project = await openRunningProject(all);
    await project.push(filesOf('one'));
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  test('a redeployment does not deploy what is pushed after it', { timeout }, async () => {
    const first = project.head();
    const redeployment = await project.begin('POST', '/redeploy', {});
    const push = await project.beginPush(filesOf('two'));
    expect([await project.ended(redeployment), await project.ended(push)]).toMatchObject([{ result: 'success' }, { result: 'success' }]);
    const { json } = await project.send('GET', '/earlier-deployments');
    expect(json.map(({ commit }: { commit: string }) => commit)).toEqual([project.head(), first, first]);
    expect(await project.ask()).toMatchObject({ version: 'two' });
  });

  test('a branch waits for it, and runs where its parent then runs', { timeout }, async () => {
    const redeployment = await project.begin('POST', '/redeploy', {});
    const branching = await project.begin('POST', '/branch', { name: 'preview', title: 'Preview' });
    expect(await project.ended(redeployment)).toMatchObject({ result: 'success' });
    expect(await project.ended(branching)).toMatchObject({ result: 'success' });
    expect(await project.row('preview')).toMatchObject({ status: 'active', head_commit: project.head() });
  });

  test('of many requests to deactivate an environment one is taken', { timeout }, async () => {
    const path = `/projects/${project.projectId}/environments/preview/deactivate`;
    const replies = await Promise.all(Array.from({ length: 6 }, () => project.owner.send('POST', path)));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409]);
    const [activity] = replies.find(({ status }) => status === 200)?.json._embedded.activities ?? [];
    expect(await project.ended(activity)).toMatchObject({ result: 'success' });
    expect((await project.row('preview')).status).toBe('inactive');
  });

  test('who may visit, and whether robots may, only the edge is told', { timeout }, async () => {
    const before = await project.ask();
    for (const change of [{ http_access: { basic_auth: { ada: 'secret word' } } }, { restrict_robots: false }])
      expect(await project.act('PATCH', '', change)).toMatchObject({ result: 'success' });
    expect(await project.table()).toMatchObject({ restrict_robots: false, http_access: { basic_auth: { ada: expect.any(String) } } });
    expect(await project.ask()).toEqual(before);
  });
});
