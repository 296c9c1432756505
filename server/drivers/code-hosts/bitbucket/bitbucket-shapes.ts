/** What Bitbucket Cloud says, as far as it is read. */
import { Type, type Static } from 'typebox';
import { orNull } from '../../../kernel/stored-json.ts';
import type { PullRequest } from '../code-host.ts';

export const webAddress = 'https://bitbucket.org';

const Links = Type.Object({ html: Type.Object({ href: Type.String() }) });

export const RepositoryShape = Type.Object({
  uuid: Type.String(),
  full_name: Type.String(),
  /** Null in a repository without commits. */
  mainbranch: Type.Optional(orNull(Type.Object({ name: Type.String() }))),
  links: Links,
});

export const RefShape = Type.Object({ name: Type.String(), target: Type.Object({ hash: Type.String() }) });
export const HookShape = Type.Object({ uuid: Type.String(), url: Type.String() });
export const CommentShape = Type.Object({
  id: Type.Integer(),
  deleted: Type.Optional(Type.Boolean()),
  content: Type.Object({ raw: Type.Optional(orNull(Type.String())) }),
});

/** Commit and repository are null once the fork is deleted. */
const Side = Type.Object({
  branch: Type.Object({ name: Type.String() }),
  commit: Type.Optional(orNull(Type.Object({ hash: Type.String() }))),
  repository: Type.Optional(orNull(Type.Object({ uuid: Type.String(), full_name: Type.String() }))),
});

export const PullRequestShape = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  source: Side,
  destination: Side,
  links: Links,
});

const stateOf: Readonly<Record<string, PullRequest['state']>> = { OPEN: 'open', MERGED: 'merged' };

export function pullRequestOf({ id, title, state, draft, source, destination, links }: Static<typeof PullRequestShape>): PullRequest {
  const isFromFork = !source.repository || source.repository.uuid !== destination.repository?.uuid;
  return {
    number: id,
    title,
    state: stateOf[state] ?? 'closed',
    isDraft: draft ?? false,
    isFromFork,
    sourceBranch: source.branch.name,
    targetBranch: destination.branch.name,
    commit: source.commit?.hash ?? '',
    url: links.html.href,
    // Bitbucket Cloud keeps no refs of pull requests.
    source: {
      ...(isFromFork && source.repository && { repository: `${webAddress}/${source.repository.full_name}.git` }),
      head: `refs/heads/${source.branch.name}`,
    },
  };
}
