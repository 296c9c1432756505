/** What has to be so with a sample for an operation to be possible. */
import { shortId } from '../../kernel/id.ts';
import { currentStack } from '../../rooms/deployments/public.ts';
import { machineName } from '../../rooms/environments/public.ts';
import { deploySample } from '../deployment.ts';
import type { Person } from '../platform.ts';
import { commitFiles } from '../repository.ts';
import { app, shop } from '../stack.ts';
import type { Address } from './addresses.ts';

/** Makes the integration one that can do what it is for without a host that would have to agree. */
export async function asOneThatAsksNobody({ home: { platform } }: Person, { integrationId = '' }: Address) {
  await platform.db.updateTable('integrations').set({ type: 'blackfire' }).where('id', '=', integrationId).execute();
}

/** Makes a script of the activity, which has been run for the integration and is of no environment. */
export async function asScript({ home: { platform } }: Person, { integrationId = '', activityId = '' }: Address) {
  const told = { activity: activityId, activity_type: 'environment.push', state: 'complete', result: 'success', completion_percent: 100 };
  await platform.db
    .updateTable('activities')
    .set({
      type: 'integration.script',
      state: 'complete',
      environments: [],
      environment_types: [],
      input: JSON.stringify({ integration: integrationId, ...told }),
    })
    .where('id', '=', activityId)
    .execute();
}

/** Ends the activity: the log of one that waits would not end, either. */
export async function atItsEnd({ home: { platform } }: Person, { activityId = '' }: Address) {
  await platform.db.updateTable('activities').set({ state: 'complete' }).where('id', '=', activityId).execute();
}

/** Gives the environment this status in its row; nothing runs. */
export function inStatus(status: string) {
  return async ({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) =>
    void (await platform.db
      .updateTable('environments')
      .set({ status, head_commit: 'a'.repeat(40) })
      .where('project_id', '=', projectId)
      .where('id', '=', environmentId)
      .execute());
}

/** A running environment with changes that wait for a manual deployment. */
export async function deployedByHand(owner: Person, address: Address) {
  await inStatus('active')(owner, address);
  const { projectId = '', environmentId = '' } = address;
  await owner.home.platform.db
    .updateTable('environments')
    .set({ enable_manual_deployments: true })
    .where('project_id', '=', projectId)
    .where('id', '=', environmentId)
    .execute();
}

export async function deployed({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  await deploySample(platform, { projectId, environmentId });
}

/** An environment whose app counts as something to get into. */
export async function withRunningApp(owner: Person, address: Address) {
  await deployed(owner, address);
  const { projectId = '', environmentId = '' } = address;
  await owner.home.platform.db
    .updateTable('deployments')
    .set({ generations: JSON.stringify({ shop: 'sample' }) })
    .where('project_id', '=', projectId)
    .where('environment_id', '=', environmentId)
    .execute();
}

/** An environment with an earlier deployment, of which everything is kept. */
export async function deployedTwice({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const at = { projectId, environmentId };
  const first = await deploySample(platform, at, { commit_id: 'b'.repeat(40) });
  await deploySample(platform, at, { id: first.id, deployment: { ...first.deployment, id: shortId(), number: 2 } });
  for (const [app, { slug_id, tree_id, config_id }] of Object.entries(first.slugs)) {
    const volume = `slug-${shortId()}`;
    await platform.db
      .insertInto('slugs')
      .values({ id: slug_id, project_id: projectId, app, tree_id, config_id, volume, bytes: '1' })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** An environment with commits, and with a parent of the same type that has some, too. */
export async function withCode({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const head_commit = 'a'.repeat(40);
  const parent = {
    project_id: projectId,
    id: 'base',
    machine_name: machineName('base', projectId),
    title: 'Base',
    type: 'staging',
    head_commit,
  };
  await platform.db.insertInto('environments').values(parent).execute();
  const change = { head_commit, parent: parent.id };
  await platform.db.updateTable('environments').set(change).where('project_id', '=', projectId).where('id', '=', environmentId).execute();
}

/** An environment with an app that defines the source operation `update`. */
export async function withSourceOperation({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const config = 'applications: { app: { type: "nodejs:22", source: { operations: { update: { command: "true" } } } } }';
  const head_commit = commitFiles(platform.git.path(projectId), undefined, { '.upsun/config.yaml': config });
  await platform.git.moveBranch(projectId, environmentId, undefined, head_commit);
  const change = platform.db.updateTable('environments').set({ head_commit });
  await change.where('project_id', '=', projectId).where('id', '=', environmentId).execute();
}

/** An environment with an app that defines an operation for contributors. */
export async function withRuntimeOperation({ home: { platform } }: Person, { projectId = '', environmentId = '' }: Address) {
  const operations = { 'clear-cache': { role: 'contributor', commands: { start: 'true', stop: null }, timeout: null } } as const;
  const model = { ...shop(), applications: { app: app('app', { operations }) } };
  const { id } = (await currentStack(platform.db, platform.secrets, projectId, environmentId)) ?? {};
  if (id === undefined) throw new Error('Nothing is deployed');
  const deployment = { id: shortId(), number: 2, created_at: '2026-11-15T10:00:00Z' };
  await deploySample(platform, { projectId, environmentId }, { id, model, deployment });
}
