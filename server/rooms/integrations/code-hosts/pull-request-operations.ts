/** An extension of the published API: pull requests as the platform knows them, and the approval without which a fork's code does not run. */
import { Type } from 'typebox';
import { array, one, operation, updated } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import { IntegrationEntity } from '../integration.ts';
import { approvePullRequest } from './approve-pull-request.ts';
import { isCodeHost } from './code-host-of.ts';
import { PullRequestEntity, shownPullRequests } from './pull-request.ts';

export const listIntegrationsPullRequests = operation({
  summary: 'List the open pull requests of a code host, and which of them wait for approval',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/pull-requests',
  on: IntegrationEntity,
  rel: '#pull-requests',
  permission: 'integration:view',
  allowedWhen: ({ type }) => isCodeHost(type),
  otherwise: 'Only integrations with code hosts have pull requests.',
  returns: array(PullRequestEntity),
  handle: ({ target }, { db }) => shownPullRequests(db, target),
});

export const getIntegrationsPullRequest = operation({
  summary: 'Get an open pull request of a code host',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/pull-requests/{pullRequestNumber}',
  on: PullRequestEntity,
  permission: 'integration:view',
  returns: one(PullRequestEntity),
  handle: async ({ target }) => target,
});

export const approveIntegrationsPullRequest = operation({
  summary: 'Approve a commit of a pull request from a fork: it gets an environment',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/pull-requests/{pullRequestNumber}/approve',
  on: PullRequestEntity,
  rel: '#approve',
  permission: 'integration:manage',
  allowedWhen: ({ needs_approval }) => needs_approval,
  otherwise: 'The pull request needs no approval: it does not come from a fork, or is approved as it is.',
  body: closed({
    commit: Type.String({
      pattern: '^([0-9a-f]{40}|[0-9a-f]{64})$',
      'x-message': 'must be the whole id of the commit that you have read, of 40 or 64 digits',
      description: 'The commit that is approved; one that is not the head of the pull request any more is refused.',
    }),
  }),
  example: { commit: 'f'.repeat(40) },
  returns: updated(PullRequestEntity),
  handle: ({ target, body: { commit }, caller }, platform) => approvePullRequest(platform, target, commit, caller),
});
