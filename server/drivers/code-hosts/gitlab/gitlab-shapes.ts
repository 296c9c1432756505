/** What GitLab says, as far as it is read. */
import { Type, type Static } from 'typebox';
import { orNull } from '../../../kernel/stored-json.ts';
import type { PullRequest } from '../code-host.ts';

export const ProjectShape = Type.Object({
  id: Type.Integer(),
  path_with_namespace: Type.String(),
  /** Null in a repository without commits. */
  default_branch: orNull(Type.String()),
  web_url: Type.String(),
});

export const TokenShape = Type.Object({ expires_at: Type.Optional(orNull(Type.String())) });
export const RotatedShape = Type.Object({ token: Type.String(), expires_at: Type.String() });
export const RefShape = Type.Object({ name: Type.String(), commit: Type.Object({ id: Type.String() }) });
export const HookShape = Type.Object({ id: Type.Integer(), url: Type.String() });
export const NoteShape = Type.Object({ id: Type.Integer(), body: Type.String() });

/** What the API and deliveries tell alike. The project is null once the fork is deleted. */
const common = {
  iid: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  work_in_progress: Type.Optional(Type.Boolean()),
  source_branch: Type.String(),
  target_branch: Type.String(),
  source_project_id: orNull(Type.Integer()),
  target_project_id: Type.Integer(),
};

export const MergeRequestShape = Type.Object({ ...common, sha: orNull(Type.String()), web_url: Type.String() });
/** Of a delivery. */
export const MergeRequestAttributes = Type.Object({
  ...common,
  last_commit: orNull(Type.Object({ id: Type.String() })),
  url: Type.String(),
});

type Common = Omit<Static<typeof MergeRequestShape>, 'sha' | 'web_url'>;

/** One that is locked is being merged. */
const stateOf: Readonly<Record<string, PullRequest['state']>> = { opened: 'open', locked: 'open', merged: 'merged' };

export const pullRequestOf = (request: Common, commit: string, url: string): PullRequest => ({
  number: request.iid,
  title: request.title,
  state: stateOf[request.state] ?? 'closed',
  isDraft: request.draft ?? request.work_in_progress ?? false,
  isFromFork: request.source_project_id !== request.target_project_id,
  sourceBranch: request.source_branch,
  targetBranch: request.target_branch,
  commit,
  url,
  source: { head: `refs/merge-requests/${request.iid}/head`, merge: `refs/merge-requests/${request.iid}/merge` },
});
