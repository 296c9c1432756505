/** Deliveries of Bitbucket Server, signed by HMAC-SHA-256. */
import { Type } from 'typebox';
import type { Delivery, HostEvent } from '../code-host.ts';
import { deliveryKind, eventsOf, refEvents, type DeliveryKinds } from '../read-delivery.ts';
import { isSameName } from '../repository-name.ts';
import { headerOf, isSignedWithPrefix } from '../webhook-signatures.ts';
import { PullRequestShape, pullRequestOf, RepositoryShape } from './bitbucket-server-shapes.ts';

interface Ours {
  /** `KEY/slug`. */
  repository: string;
  repositoryId?: string | undefined;
  /** The address of the repository, for people. */
  web: string;
}

const Push = Type.Object({
  repository: RepositoryShape,
  changes: Type.Array(Type.Object({ ref: Type.Object({ id: Type.String() }), toHash: Type.String() })),
});
const PullRequestChange = Type.Object({ pullRequest: PullRequestShape });
const RepositoryChange = Type.Object({ new: RepositoryShape });

export const pullRequestKeys = ['pr:opened', 'pr:from_ref_updated', 'pr:modified', 'pr:merged', 'pr:declined'];

export const readBitbucketServerDelivery = (delivery: Delivery, secret: string, ours: Ours): HostEvent[] =>
  eventsOf(delivery, headerOf(delivery, 'x-event-key'), isSignedWithPrefix(delivery, 'x-hub-signature', secret), kindsFor(ours));

function kindsFor(ours: Ours): DeliveryKinds {
  const nameOf = ({ project, slug }: { project: { key: string }; slug: string }) => `${project.key}/${slug}`;
  const isOurs = (repository: { id: number; slug: string; project: { key: string } }) =>
    ours.repositoryId === undefined ? isSameName(nameOf(repository), ours.repository) : String(repository.id) === ours.repositoryId;
  const pullRequests = deliveryKind(PullRequestChange, ({ pullRequest }) =>
    isOurs(pullRequest.toRef.repository) ? [{ kind: 'pull-request', pullRequest: pullRequestOf(pullRequest, ours.web) }] : [],
  );
  return {
    'repo:refs_changed': deliveryKind(Push, ({ repository, changes }) =>
      isOurs(repository) ? changes.flatMap(({ ref, toHash }) => refEvents(ref.id, toHash)) : [],
    ),
    'repo:modified': deliveryKind(RepositoryChange, ({ new: repository }) =>
      isOurs(repository) && !isSameName(nameOf(repository), ours.repository)
        ? [{ kind: 'repository-renamed', name: nameOf(repository) }]
        : [],
    ),
    ...Object.fromEntries(pullRequestKeys.map((key) => [key, pullRequests])),
    // It is told as it was before.
    'pr:deleted': deliveryKind(PullRequestChange, ({ pullRequest }) =>
      isOurs(pullRequest.toRef.repository)
        ? [{ kind: 'pull-request', pullRequest: { ...pullRequestOf(pullRequest, ours.web), state: 'closed' } }]
        : [],
    ),
  };
}
