/** What GitHub says, as far as it is read. */
import { Type, type Static } from 'typebox';
import { orNull } from '../../../kernel/stored-json.ts';
import type { PullRequest } from '../code-host.ts';

export const RepositoryShape = Type.Object({
  id: Type.Integer(),
  full_name: Type.String(),
  default_branch: Type.String(),
  html_url: Type.String(),
});

export const NamedRef = Type.Object({ name: Type.String(), commit: Type.Object({ sha: Type.String() }) });
export const HookShape = Type.Object({ id: Type.Integer(), config: Type.Object({ url: Type.Optional(Type.String()) }) });
export const CommentShape = Type.Object({ id: Type.Integer(), body: Type.Optional(orNull(Type.String())) });

/** The repository of the head is null once it is deleted. */
const Side = Type.Object({ ref: Type.String(), sha: Type.String(), repo: orNull(Type.Object({ id: Type.Integer() })) });

export const PullRequestShape = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  merged_at: Type.Optional(orNull(Type.String())),
  html_url: Type.String(),
  head: Side,
  base: Side,
});

export const pullRequestOf = ({
  number,
  title,
  state,
  draft,
  merged_at,
  html_url,
  head,
  base,
}: Static<typeof PullRequestShape>): PullRequest => ({
  number,
  title,
  state: merged_at ? 'merged' : state === 'open' ? 'open' : 'closed',
  isDraft: draft ?? false,
  isFromFork: head.repo === null || head.repo.id !== base.repo?.id,
  sourceBranch: head.ref,
  targetBranch: base.ref,
  commit: head.sha,
  url: html_url,
  source: { head: `refs/pull/${number}/head`, merge: `refs/pull/${number}/merge` },
});
