/** An open pull request of a code host, as people see it here: whether it has an environment, and whether it waits for somebody to approve it. */
import { Type } from 'typebox';
import { ProjectId } from '../../../ids.ts';
import { environmentNameOf, isApproved } from '../../../drivers/code-hosts/plan-mirror.ts';
import { entity } from '../../../kernel/operation.ts';
import { nullable, Time } from '../../../kernel/schema.ts';
import type { Db } from '../../../kernel/sql.ts';
import { IntegrationId } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import type { StoredIntegration } from '../stored-integration.ts';
import { pullRequestsOf, type StoredPullRequest } from './mirror.ts';

type Owner = Pick<StoredIntegration, 'id' | 'project_id' | 'organization_id'>;

export type ShownPullRequest = ReturnType<typeof shownPullRequest>;

const shownPullRequest = ({ id, project_id, organization_id }: Owner, { details, ...stored }: StoredPullRequest) => ({
  number: stored.number,
  title: details.title,
  url: details.url,
  source_branch: details.sourceBranch,
  target_branch: details.targetBranch,
  commit: details.commit,
  is_draft: details.isDraft,
  is_from_fork: details.isFromFork,
  approved_commit: stored.approved_commit,
  approved_by: stored.approved_by,
  approved_at: stored.approved_at,
  needs_approval: details.isFromFork && !isApproved(stored.approved_commit, details.commit),
  environment: stored.revision === null ? null : environmentNameOf(stored.number),
  integration_id: id,
  project_id,
  organization_id,
});

export const PullRequestEntity = entity({
  name: 'pull request',
  path: '/projects/{projectId}/integrations/{integrationId}/pull-requests/{pullRequestNumber}',
  params: { projectId: ProjectId, integrationId: IntegrationId, pullRequestNumber: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) },
  schema: Type.Object({
    number: Type.Integer(),
    title: Type.String(),
    url: Type.String({ description: 'Where people find it at the host.' }),
    source_branch: Type.String(),
    target_branch: Type.String(),
    commit: Type.String({ description: 'The commit at its head, as the host tells it.' }),
    is_draft: Type.Boolean(),
    is_from_fork: Type.Boolean({ description: 'Its commits come from another repository, whose writers are not ours.' }),
    needs_approval: Type.Boolean({ description: 'Nothing of its commit is built before somebody who manages integrations approves it.' }),
    approved_commit: nullable(Type.String()),
    approved_by: nullable(Type.String()),
    approved_at: nullable(Time),
    environment: nullable(Type.String({ description: 'The environment that it has.' })),
  }),
  address: ({ project_id, integration_id, number }: ShownPullRequest) => ({
    projectId: project_id,
    integrationId: integration_id,
    pullRequestNumber: String(number),
  }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'integration:view',
  load: async ({ projectId, integrationId, pullRequestNumber }, { db }) => {
    const [owner] = await integrationsOf(db, projectId, integrationId);
    return owner && (await shownPullRequests(db, owner, Number(pullRequestNumber)))[0];
  },
});

export const shownPullRequests = async (db: Db, owner: Owner, number?: number): Promise<ShownPullRequest[]> =>
  (await pullRequestsOf(db, owner.id, number)).map((stored) => shownPullRequest(owner, stored));
