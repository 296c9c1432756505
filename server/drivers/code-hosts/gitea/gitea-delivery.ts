/** Deliveries of Gitea and Forgejo, signed by HMAC-SHA-256 without a prefix. */
import { Type } from 'typebox';
import type { Delivery, HostEvent } from '../code-host.ts';
import { deliveryKind, eventsOf, refEvents, type DeliveryKinds } from '../read-delivery.ts';
import { isSameName } from '../repository-name.ts';
import { headerOf, isSignedPlainly } from '../webhook-signatures.ts';
import { PullRequestShape, pullRequestOf } from './gitea-shapes.ts';

interface Ours {
  repository: string;
  repositoryId?: string | undefined;
}

const About = Type.Object({ id: Type.Integer(), full_name: Type.String() });
const Push = Type.Object({ ref: Type.String(), after: Type.String(), repository: About });
/** Deleting a branch is told by this alone, and not by a push. */
const Removal = Type.Object({ ref: Type.String(), ref_type: Type.String(), repository: About });
const PullRequestChange = Type.Object({ pull_request: PullRequestShape, repository: About });
const RepositoryChange = Type.Object({ action: Type.String(), repository: About });

/** Forgejo sends the headers of Gitea beside its own. */
export const readGiteaDelivery = (delivery: Delivery, secret: string, ours: Ours): HostEvent[] =>
  eventsOf(delivery, headerOf(delivery, 'x-gitea-event'), isSignedPlainly(delivery, 'x-gitea-signature', secret), kindsFor(ours));

function kindsFor(ours: Ours): DeliveryKinds {
  const isOurs = ({ id, full_name }: { id: number; full_name: string }) =>
    ours.repositoryId === undefined ? isSameName(full_name, ours.repository) : String(id) === ours.repositoryId;
  const pullRequests = deliveryKind(PullRequestChange, ({ pull_request, repository }) =>
    isOurs(repository) ? [{ kind: 'pull-request', pullRequest: pullRequestOf(pull_request) }] : [],
  );
  return {
    push: deliveryKind(Push, ({ ref, after, repository }) => (isOurs(repository) ? refEvents(ref, after) : [])),
    delete: deliveryKind(Removal, ({ ref, ref_type, repository }) =>
      isOurs(repository) ? refEvents(`refs/${ref_type === 'tag' ? 'tags' : 'heads'}/${ref}`, undefined) : [],
    ),
    pull_request: pullRequests,
    pull_request_sync: pullRequests,
    repository: deliveryKind(RepositoryChange, ({ action, repository }) =>
      isOurs(repository) && action === 'deleted' ? [{ kind: 'repository-deleted' }] : [],
    ),
  };
}
