/** Deliveries of Bitbucket Cloud, signed by HMAC-SHA-256. */
import { Type } from 'typebox';
import { orNull } from '../../../kernel/stored-json.ts';
import type { Delivery, HostEvent } from '../code-host.ts';
import { deliveryKind, eventsOf, refEvents, type DeliveryKinds } from '../read-delivery.ts';
import { isSameName } from '../repository-name.ts';
import { headerOf, isSignedWithPrefix } from '../webhook-signatures.ts';
import { PullRequestShape, pullRequestOf } from './bitbucket-shapes.ts';

interface Ours {
  repository: string;
  repositoryId?: string | undefined;
}

const About = Type.Object({ uuid: Type.String(), full_name: Type.String() });
const Tip = orNull(Type.Object({ type: Type.String(), name: Type.String(), target: Type.Object({ hash: Type.String() }) }));
const Push = Type.Object({ push: Type.Object({ changes: Type.Array(Type.Object({ new: Tip, old: Tip })) }), repository: About });
const PullRequestChange = Type.Object({ pullrequest: PullRequestShape, repository: About });
const RepositoryChange = Type.Object({ repository: About });

export const pullRequestKeys = ['pullrequest:created', 'pullrequest:updated', 'pullrequest:fulfilled', 'pullrequest:rejected'];

export const readBitbucketDelivery = (delivery: Delivery, secret: string, ours: Ours): HostEvent[] =>
  eventsOf(delivery, headerOf(delivery, 'x-event-key'), isSignedWithPrefix(delivery, 'x-hub-signature', secret), kindsFor(ours));

function kindsFor(ours: Ours): DeliveryKinds {
  const isOurs = ({ uuid, full_name }: { uuid: string; full_name: string }) =>
    ours.repositoryId === undefined ? isSameName(full_name, ours.repository) : uuid === ours.repositoryId;
  const pullRequests = deliveryKind(PullRequestChange, ({ pullrequest, repository }) =>
    isOurs(repository) ? [{ kind: 'pull-request', pullRequest: pullRequestOf(pullrequest) }] : [],
  );
  return {
    'repo:push': deliveryKind(Push, ({ push, repository }) =>
      isOurs(repository) ? push.changes.flatMap(({ new: now, old }) => refEvents(refOf(now ?? old), now?.target.hash)) : [],
    ),
    'repo:updated': deliveryKind(RepositoryChange, ({ repository }) =>
      isOurs(repository) && !isSameName(repository.full_name, ours.repository)
        ? [{ kind: 'repository-renamed', name: repository.full_name }]
        : [],
    ),
    'repo:deleted': deliveryKind(RepositoryChange, ({ repository }) => (isOurs(repository) ? [{ kind: 'repository-deleted' }] : [])),
    ...Object.fromEntries(pullRequestKeys.map((key) => [key, pullRequests])),
  };
}

const folderOf: Readonly<Record<string, string>> = { branch: 'heads', tag: 'tags' };
const refOf = (tip: { type: string; name: string } | null) => (tip ? `refs/${folderOf[tip.type] ?? tip.type}/${tip.name}` : '');
