/** Services outside, and activities that follow from them. */
import { startActivity } from '../../kernel/activity.ts';
import { pushActivity } from '../../rooms/environments/work.ts';
import type { Person } from '../platform.ts';
import { sampleEnvironment, sampleProject } from './projects.ts';

/** An integration with a host of code. */
export async function sampleIntegration(owner: Person, project?: Awaited<ReturnType<typeof sampleProject>>) {
  const address = project ?? (await sampleProject(owner));
  const body = { type: 'github', token: 'sample', repository: 'acme/sample' };
  const { json } = await owner.send('POST', `/projects/${address.projectId}/integrations`, body);
  return { ...address, integrationId: String(json._embedded.entity.id) };
}

/** A pull request from a fork, as a code host would have told of it. */
export async function samplePullRequest(owner: Person) {
  const integration = await sampleIntegration(owner);
  const details = {
    number: 7,
    title: 'Faster',
    state: 'open',
    isDraft: false,
    isFromFork: true,
    sourceBranch: 'faster',
    targetBranch: 'main',
    commit: 'f'.repeat(40),
    url: 'https://github.com/acme/sample/pull/7',
    source: { head: 'refs/pull/7/head' },
  };
  const row = { integration_id: integration.integrationId, number: details.number, details: JSON.stringify(details) };
  await owner.home.platform.db.insertInto('pull_requests').values(row).execute();
  return { ...integration, pullRequestNumber: String(details.number) };
}

/** An activity of a staging environment that waits for its turn, and that follows from an integration. */
export async function sampleActivity(owner: Person) {
  const environment = await sampleEnvironment(owner);
  const { projectId: project_id, environmentId: id } = environment;
  const { integrationId } = await sampleIntegration(owner, environment);
  const activity = await owner.home.platform.db.transaction().execute((tx) =>
    startActivity(tx, pushActivity, {
      project_id,
      environments: [{ id, type: 'staging' }],
      integration: integrationId,
      input: { from: null, to: 'a'.repeat(40), activate: false, deploying: {} },
    }),
  );
  return { ...environment, integrationId, activityId: activity.id };
}
