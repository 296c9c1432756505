import { startActivity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Caller, Permission, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, strong } from '../activities/public.ts';
import type { Operation, Role } from '../builds/public.ts';
import { DeploymentEntity, type Deployment } from '../deployments/public.ts';
import { environmentById, environmentSummary } from '../environments/public.ts';
import { runtimeOperationActivity, sealParameters } from './runtime-operation.ts';
import { environmentLife } from '../environments/life-cycle.ts';

interface Wanted {
  service: string;
  operation: string;
  parameters?: string[];
}

const parametersBytesMax = 64 * 1024;

/** The permission by which a caller counts as having the role. */
const permissionOf: Record<Role, Permission> = {
  viewer: 'environment:view',
  contributor: 'environment:push',
  admin: 'environment:admin',
};

export async function startRuntimeOperation(
  { db, config, secrets }: Platform,
  target: Deployment,
  { service, operation, parameters = [] }: Wanted,
  caller: Caller,
): Promise<Changed<Deployment>> {
  const { role } = definedIn(target, service, operation);
  if (!caller.can(permissionOf[role], DeploymentEntity.scope(target)))
    throw new Problem(
      'forbidden',
      `The operation '${operation}' of ${service} is for those who are ${role} of ${target.type} environments here; ask an administrator of the project.`,
    );
  if (parameters.reduce((bytes, parameter) => bytes + Buffer.byteLength(parameter), 0) > parametersBytesMax)
    throw invalidField('parameters', `must be at most ${parametersBytesMax / 1024} KiB together`);
  const { project_id, environment_id, organization_id } = target;
  const actor = actorOf(caller.user);
  const activity = await db.transaction().execute(async (tx) => {
    const environment = await environmentById(tx, config.domain, project_id, environment_id);
    if (!environment) throw new Problem('conflict', 'The environment was deleted meanwhile.');
    if (!environmentLife.possible(environment.status, 'runOperation'))
      throw new Problem('conflict', environmentLife.otherwise(environment.status, 'runOperation'));
    return startActivity(tx, runtimeOperationActivity, {
      project_id,
      environments: [environment],
      beside: `operation ${service}`,
      input: {
        environment: environment_id,
        service,
        operation,
        parameters: sealParameters(secrets, project_id, { environment: environment_id, service }, parameters),
      },
      parameters: { user: actor.id, environment: environment_id, service, operation },
      payload: { user: actor, environment: environmentSummary(environment), service, operation },
      sentence: sentence`${person(actor)} ran operation ${strong(operation)} of ${strong(service)} on ${named(environment)}`,
    });
  });
  return changed(target, organization_id, activity);
}

/** Throws a Problem that lists what can be chosen where the service or the operation does not exist. */
function definedIn({ webapps, workers, services }: Deployment, service: string, operation: string): Operation {
  const all = { ...webapps, ...workers };
  if (!Object.hasOwn(all, service))
    throw invalidField(
      'service',
      `must be ${listed(Object.keys(all))}; ${JSON.stringify(service)} ${Object.hasOwn(services, service) ? 'has no operations' : 'does not run here'}`,
    );
  // A worker has the operations of its app.
  const operations = webapps[workers[service]?.app ?? service]?.operations ?? {};
  const defined = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
  if (!defined)
    throw invalidField(
      'operation',
      Object.keys(operations).length === 0
        ? `must be one that ${service} defines, and it defines none`
        : `must be ${listed(Object.keys(operations))} for ${service}; there is no ${JSON.stringify(operation)}`,
    );
  return defined;
}

const listed = (names: readonly string[]) => (names.length === 1 ? String(names[0]) : `one of ${names.toSorted().join(', ')}`);
