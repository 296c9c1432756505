/**
 * A log of one app or worker, as it is kept on this machine. It is there whether the app runs or not: while the environment is paused, and also when its
 * first deployment failed. Whoever may not get into the app may not read its logs.
 */
import { Type } from 'typebox';
import { findLog, listLogs, logFile, logsOf, type FoundLog, type LogName } from '../../drivers/logs/log-folders.ts';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import { logsFolder } from '../../machine.ts';
import type { Permission, Platform, Scope } from '../../platform.ts';
import { environmentById, sshPermission, type Environment } from '../environments/public.ts';

const nameCharactersMax = 200;

export interface Log {
  id: string;
  app: string;
  name: LogName;
  bytes: number;
  updated_at: string;
  environment_id: string;
  /** The scope of the log's environment. */
  scope: Required<Pick<Scope, 'project' | 'organization' | 'environmentType'>>;
  /** The permission that lets somebody into the app. */
  entrance: Permission;
  file: string;
}

/** What an app said, who visited it, and what went wrong. */
export const LogEntity = entity({
  name: 'log',
  path: '/projects/{projectId}/environments/{environmentId}/logs/{app}/{name}',
  params: {
    projectId: ProjectId,
    environmentId: EnvironmentId,
    app: Type.String({ minLength: 1, maxLength: nameCharactersMax }),
    name: Type.String({ minLength: 1, maxLength: nameCharactersMax }),
  },
  schema: Type.Object({
    id: Type.String(),
    app: Type.String({ description: 'The app or worker; @edge for requests that led to none.' }),
    name: Type.String({ description: '/var/log/{name}.log in its container.' }),
    bytes: Type.Integer({ description: 'How many bytes of the log are kept.' }),
    updated_at: Time,
  }),
  address: ({ app, name, environment_id, scope }: Log) => ({ projectId: scope.project, environmentId: environment_id, app, name }),
  scope: ({ scope }) => scope,
  view: 'environment:view',
  load: async ({ projectId, environmentId, app, name }, { db, config }) => {
    const environment = await environmentById(db, config.domain, projectId, environmentId);
    const found = environment && (await findLog(folderOf(config, environment), app, name));
    return found && logOf(config, environment, found);
  },
});

type Where = Pick<Platform['config'], 'data'>;

const folderOf = (config: Where, { project_id, machine_name }: Environment) => logsOf(logsFolder(config), `${project_id}-${machine_name}`);

function logOf(config: Where, environment: Environment, { app, name, bytes, changedAt }: FoundLog): Log {
  const { project_id, organization_id, type, ssh_roles } = environment;
  return {
    id: `${app}/${name}`,
    app,
    name,
    bytes,
    updated_at: changedAt.toISOString(),
    environment_id: environment.id,
    scope: { project: project_id, organization: organization_id, environmentType: type },
    entrance: Object.hasOwn(ssh_roles, app) ? sshPermission(environment, app) : 'log:view',
    file: logFile(folderOf(config, environment), app, name),
  };
}

export const logsOfEnvironment = async (config: Where, environment: Environment): Promise<Log[]> =>
  (await listLogs(folderOf(config, environment))).map((found) => logOf(config, environment, found));
