/** Deliveries of GitHub, signed by HMAC-SHA-256. */
import { Type } from 'typebox';
import type { Delivery, HostEvent } from '../code-host.ts';
import { deliveryKind, eventsOf, refEvents, type DeliveryKinds } from '../read-delivery.ts';
import { isSameName } from '../repository-name.ts';
import { headerOf, isSignedWithPrefix } from '../webhook-signatures.ts';
import { PullRequestShape, pullRequestOf } from './github-shapes.ts';

interface Ours {
  repository: string;
  repositoryId?: string | undefined;
}

const About = Type.Object({ id: Type.Integer(), full_name: Type.String() });
const Push = Type.Object({ ref: Type.String(), after: Type.String(), repository: About });
const PullRequestChange = Type.Object({ pull_request: PullRequestShape, repository: About });
const RepositoryChange = Type.Object({ action: Type.String(), repository: About });

export const readGithubDelivery = (delivery: Delivery, secret: string, ours: Ours): HostEvent[] =>
  eventsOf(delivery, headerOf(delivery, 'x-github-event'), isSignedWithPrefix(delivery, 'x-hub-signature-256', secret), kindsFor(ours));

const kindsFor = (ours: Ours): DeliveryKinds => {
  const isOurs = ({ id, full_name }: { id: number; full_name: string }) =>
    ours.repositoryId === undefined ? isSameName(full_name, ours.repository) : String(id) === ours.repositoryId;
  return {
    push: deliveryKind(Push, ({ ref, after, repository }) => (isOurs(repository) ? refEvents(ref, after) : [])),
    pull_request: deliveryKind(PullRequestChange, ({ pull_request, repository }) =>
      isOurs(repository) ? [{ kind: 'pull-request', pullRequest: pullRequestOf(pull_request) }] : [],
    ),
    repository: deliveryKind(RepositoryChange, ({ action, repository }) =>
      isOurs(repository) ? repositoryEvents(action, repository.full_name) : [],
    ),
  };
};

function repositoryEvents(action: string, name: string): HostEvent[] {
  if (action === 'renamed' || action === 'transferred') return [{ kind: 'repository-renamed', name }];
  if (action === 'deleted') return [{ kind: 'repository-deleted' }];
  // The default branch may be another one.
  return action === 'edited' ? [{ kind: 'look-at-everything' }] : [];
}
