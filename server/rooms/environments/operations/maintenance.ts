/** Taking up newer images: of one environment, or of all of a project. */
import { operation, updated } from '../../../kernel/operation.ts';
import { changed } from '../../activities/public.ts';
import { ProjectEntity } from '../../projects/public.ts';
import { EnvironmentEntity } from '../environment.ts';
import type { Environment } from '../queries.ts';
import { maintainActivity } from '../running-activities.ts';
import { impossible, possibleWhen, startEverywhere, startRunning } from '../start-running.ts';

const maintaining = ({ id }: Environment) => ({ definition: maintainActivity, input: { environment: id } });

export const maintenanceRedeployEnvironment = operation({
  summary: 'Redeploy an environment, on the newest images of its applications and services',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/maintenance-redeploy',
  on: EnvironmentEntity,
  rel: '#maintenance-redeploy',
  permission: 'environment:push',
  allowedWhen: possibleWhen.maintain,
  otherwise: impossible.maintain,
  returns: updated(EnvironmentEntity),
  handle: ({ target, caller }, platform) => startRunning(platform, target, 'maintain', maintaining(target), caller),
});

export const maintenanceRedeployProject = operation({
  summary: 'Redeploy all environments of a project that run, on the newest images of their applications and services',
  endpoint: 'POST /projects/{projectId}/maintenance-redeploy',
  on: ProjectEntity,
  rel: '#maintenance-redeploy',
  permission: 'project:admin',
  allowedWhen: ({ status }) => status === 'active',
  returns: updated(ProjectEntity),
  handle: async ({ target, caller }, platform) =>
    changed(target, target.organization_id, ...(await startEverywhere(platform, target.id, 'maintain', maintaining, caller))),
});
