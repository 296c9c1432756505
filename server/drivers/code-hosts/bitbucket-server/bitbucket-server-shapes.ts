/** What Bitbucket Server says, as far as it is read. */
import { Type, type Static } from 'typebox';
import type { PullRequest } from '../code-host.ts';

export const RepositoryShape = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  project: Type.Object({ key: Type.String() }),
});

export const DefaultBranchShape = Type.Object({ displayId: Type.String() });
export const RefShape = Type.Object({ displayId: Type.String(), latestCommit: Type.String() });
export const HookShape = Type.Object({ id: Type.Integer(), url: Type.String() });
export const CommentShape = Type.Object({ id: Type.Integer(), version: Type.Integer(), text: Type.String() });
/** Comments are found among all that happened to a pull request. */
export const PullRequestActivity = Type.Object({ action: Type.String(), comment: Type.Optional(CommentShape) });

const Side = Type.Object({ displayId: Type.String(), latestCommit: Type.String(), repository: RepositoryShape });

export const PullRequestShape = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  fromRef: Side,
  toRef: Side,
});

const stateOf: Readonly<Record<string, PullRequest['state']>> = { OPEN: 'open', MERGED: 'merged' };

/** `web` is the address of the repository: in deliveries of some versions, links are null. */
export const pullRequestOf = ({ id, title, state, draft, fromRef, toRef }: Static<typeof PullRequestShape>, web: string): PullRequest => ({
  number: id,
  title,
  state: stateOf[state] ?? 'closed',
  isDraft: draft ?? false,
  isFromFork: fromRef.repository.id !== toRef.repository.id,
  sourceBranch: fromRef.displayId,
  targetBranch: toRef.displayId,
  commit: fromRef.latestCommit,
  url: `${web}/pull-requests/${id}`,
  source: { head: `refs/pull-requests/${id}/from`, merge: `refs/pull-requests/${id}/merge` },
});
