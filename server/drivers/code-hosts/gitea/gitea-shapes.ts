/** What Gitea and Forgejo say, as far as it is read. */
import { Type, type Static } from 'typebox';
import { orNull } from '../../../kernel/stored-json.ts';
import type { PullRequest } from '../code-host.ts';

export const RepositoryShape = Type.Object({
  id: Type.Integer(),
  full_name: Type.String(),
  default_branch: Type.String(),
  html_url: Type.String(),
});

export const BranchShape = Type.Object({ name: Type.String(), commit: Type.Object({ id: Type.String() }) });
export const TagShape = Type.Object({ name: Type.String(), commit: Type.Object({ sha: Type.String() }) });
export const HookShape = Type.Object({ id: Type.Integer(), config: Type.Object({ url: Type.Optional(Type.String()) }) });
export const CommentShape = Type.Object({ id: Type.Integer(), body: Type.String() });

const Side = Type.Object({ ref: Type.String(), sha: Type.String(), repo_id: Type.Integer() });

export const PullRequestShape = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  merged: Type.Optional(Type.Boolean()),
  html_url: Type.String(),
  head: Side,
  base: Side,
  merge_base: Type.Optional(orNull(Type.String())),
});

/** By which versions that do not tell drafts apart mark them. */
const draftTitle = /^(?:\[WIP\]|WIP:)/i;

export const pullRequestOf = ({
  number,
  title,
  state,
  draft,
  merged,
  html_url,
  head,
  base,
}: Static<typeof PullRequestShape>): PullRequest => ({
  number,
  title,
  state: merged ? 'merged' : state === 'open' ? 'open' : 'closed',
  isDraft: draft ?? draftTitle.test(title),
  // The repository of the head has no number any more once it is deleted.
  isFromFork: head.repo_id !== base.repo_id,
  sourceBranch: head.ref,
  targetBranch: base.ref,
  commit: head.sha,
  url: html_url,
  source: { head: `refs/pull/${number}/head` },
});
