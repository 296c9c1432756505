/** Deliveries of GitLab, which bear the secret itself. */
import { Type } from 'typebox';
import type { Delivery, HostEvent } from '../code-host.ts';
import { deliveryKind, eventsOf, refEvents, type DeliveryKinds } from '../read-delivery.ts';
import { isSameName } from '../repository-name.ts';
import { hasToken, headerOf } from '../webhook-signatures.ts';
import { MergeRequestAttributes, pullRequestOf } from './gitlab-shapes.ts';

interface Ours {
  project: string;
  repositoryId?: string | undefined;
}

/** Older versions tell the number of the project beside it only. */
const About = Type.Object({ id: Type.Optional(Type.Integer()), path_with_namespace: Type.String() });
const Push = Type.Object({
  ref: Type.String(),
  after: Type.String(),
  project_id: Type.Integer(),
  project: About,
});
const MergeRequestChange = Type.Object({ object_attributes: MergeRequestAttributes, project: About });

export const readGitlabDelivery = (delivery: Delivery, secret: string, ours: Ours): HostEvent[] =>
  eventsOf(delivery, headerOf(delivery, 'x-gitlab-event'), hasToken(delivery, 'x-gitlab-token', secret), kindsFor(ours));

/** GitLab tells of no change of the name in a webhook of a project, so each delivery shows it. */
function kindsFor({ project: ourName, repositoryId }: Ours): DeliveryKinds {
  const about = (id: number | undefined, name: string, events: HostEvent[]): HostEvent[] => {
    const isNamedSo = isSameName(name, ourName);
    const isOurs = repositoryId === undefined || id === undefined ? isNamedSo : String(id) === repositoryId;
    if (!isOurs) return [];
    return isNamedSo ? events : [{ kind: 'repository-renamed', name }, ...events];
  };
  const push = deliveryKind(Push, ({ ref, after, project_id, project }) =>
    about(project.id ?? project_id, project.path_with_namespace, refEvents(ref, after)),
  );
  return {
    'Push Hook': push,
    'Tag Push Hook': push,
    'Merge Request Hook': deliveryKind(MergeRequestChange, ({ object_attributes: request, project }) =>
      about(project.id ?? request.target_project_id, project.path_with_namespace, [
        { kind: 'pull-request', pullRequest: pullRequestOf(request, request.last_commit?.id ?? '', request.url) },
      ]),
    ),
  };
}
