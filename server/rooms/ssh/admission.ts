/** Who may get into what: the caller as they are now, the environment as it is now, and the container that the name leads to. */
import type { Credential } from '../../identity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { currentlyDeployed, instanceName, type Deployed } from '../deployments/public.ts';
import { wakeEnvironment } from '../deployments/work.ts';
import {
  environmentByMachineName,
  EnvironmentEntity,
  readSshName,
  sshDestinations,
  sshPermission,
  type Environment,
  type SshDestination,
} from '../environments/public.ts';
import { displayName } from '../users/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';

export interface Admission extends SshDestination {
  caller: Caller;
  environment: Environment;
}

/** Throws a Problem in words that clients recognise. What does not exist and what one may not see are answered alike. */
export async function admit(platform: Platform, who: Credential, user: string): Promise<Admission> {
  const name = readSshName(user);
  const caller = await platform.callerBy(who, name?.projectId ?? '');
  if (!caller) throw new Problem('unauthenticated', 'What you signed in with is no longer accepted; sign in again.');
  const environment = name && (await environmentByMachineName(platform.db, platform.config.domain, name.projectId, name.machineName));
  if (!environment || !caller.can('environment:view', EnvironmentEntity.scope(environment))) throw unknown(caller, user);
  const scope = EnvironmentEntity.scope(environment);
  const hindrance = caller.hindrance(scope, 'environment:view');
  if (hindrance) throw new Problem('forbidden', `${hindrance.message} (reason: access requires MFA)`);
  const suspension = caller.suspension(scope);
  if (suspension) throw suspension;
  if (!environmentLife.possible(environment.status, 'enter')) throw notThere(environment);
  const destination = sshDestinations(environment).get(name.rest);
  if (!destination || !caller.can(sshPermission(environment, destination.runs), scope)) throw unknown(caller, user);
  return { ...destination, caller, environment };
}

const shownCharactersMax = 100;

/** The name comes from the client, and may be anything. */
function unknown({ user }: Caller, name: string) {
  const service = name.replaceAll(/[^\w.-]/g, '?').slice(0, shownCharactersMax);
  return new Problem(
    'forbidden',
    `Hello ${displayName(user)}, you successfully authenticated, but could not connect to service ${service} (reason: service doesn't exist or you do not have access to it)`,
  );
}

const notThere = ({ id, status }: Environment) =>
  new Problem('conflict', `The environment ${id} ${environmentLife.otherwise(status, 'enter')}.`);

export interface SessionTarget {
  container: string;
  deployed: Deployed;
}

/** The container that the admission leads to. An environment that sleeps is woken. */
export async function sessionTargetOf(platform: Platform, { environment, runs, instance }: Admission): Promise<SessionTarget> {
  const { project_id, id, sleeping_since } = environment;
  if (sleeping_since !== null) await wakeEnvironment(platform, project_id, id);
  const deployed = await currentlyDeployed(platform.db, platform.secrets, project_id, id);
  if (!deployed) throw new Problem('conflict', `Nothing is deployed in ${id}: activate it first.`);
  return { deployed, container: instanceName(deployed, runs, instance) };
}

/** The sentence for an instance whose container does not run. */
export const notRunning = ({ runs }: Admission) =>
  `${runs} is not running just now: it is being deployed, or starting again. Try again in a moment.`;
