/** An operation for each verb, as its row in verbs.ts says; and maintenance of all environments of a project at once. */
import { operation, updated, type Operation } from '../../../kernel/operation.ts';
import { changed } from '../../activities/public.ts';
import { ProjectEntity } from '../../projects/public.ts';
import { EnvironmentEntity } from '../environment.ts';
import { startEverywhere, startVerb } from '../start-verb.ts';
import { isPossible, notPossible, verbs, type Verb, type VerbName } from '../verbs.ts';

const operationOf = (name: VerbName, { endpoint, summary, permission, body, example }: Verb): Operation =>
  operation({
    summary,
    endpoint,
    on: EnvironmentEntity,
    rel: `#${endpoint.slice(endpoint.lastIndexOf('/') + 1)}`,
    permission,
    allowedWhen: (target) => isPossible(name, target),
    otherwise: (target) => notPossible(name, target),
    ...(body && { body, example }),
    returns: updated(EnvironmentEntity),
    handle: ({ target, body: given, caller }, platform) => startVerb(platform, target, name, given, caller),
  });

export const verbOperations: Record<string, Operation> = Object.fromEntries(
  (Object.keys(verbs) as VerbName[]).map((name) => [verbs[name].operation, operationOf(name, verbs[name])]),
);

export const maintenanceRedeployProject = operation({
  summary: 'Redeploy all environments of a project that run, on the newest images of their applications and services',
  endpoint: 'POST /projects/{projectId}/maintenance-redeploy',
  on: ProjectEntity,
  rel: '#maintenance-redeploy',
  permission: 'project:admin',
  allowedWhen: ({ status }) => status === 'active',
  returns: updated(ProjectEntity),
  handle: async ({ target, caller }, platform) =>
    changed(target, target.organization_id, ...(await startEverywhere(platform, target.id, 'maintain', caller))),
});
