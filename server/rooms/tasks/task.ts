/** A task, as what is deployed has it. Its name is its address. */
import { Type, type TSchema } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable } from '../../kernel/schema.ts';
import type { Platform, Scope } from '../../platform.ts';
import type { Task as ConfiguredTask } from '../builds/public.ts';
import { currentStack } from '../deployments/public.ts';
import { environmentById, type Environment } from '../environments/public.ts';

const text = Type.String();
const nullableText = nullable(text);
const mapOf = (values: TSchema) => Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: values });
/** Shown as it was written in the configuration. */
const whole = Type.Unsafe<object>({ type: 'object', additionalProperties: true });

const Memory = Type.Object({
  base_memory: Type.Integer({ description: 'MB' }),
  memory_ratio: Type.Integer({ description: 'MB for each CPU of its size.' }),
});

const Authorization = Type.Object({
  type: Type.String({ enum: ['env', 'task'] }),
  action: text,
  resource: nullableText,
});

export interface Task extends ConfiguredTask {
  id: string;

  /** The environment that the task belongs to; not part of replies. */
  environment: Environment;
}

/** What an environment runs when it is asked to, and to its end. */
export const TaskEntity = entity({
  name: 'task',
  path: '/projects/{projectId}/environments/{environmentId}/tasks/{taskId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId, taskId: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }) },
  schema: Type.Object({
    id: text,
    name: text,
    type: text,
    resources: nullable(Memory),
    authorizations: Type.Array(Authorization, { description: 'As they were written; nothing is granted by them here.' }),
    relationships: mapOf(nullable(Type.Object({ service: nullableText, endpoint: nullableText }))),
    additional_hosts: mapOf(text),
    mounts: mapOf(Type.Object({ source: text, source_path: text, service: nullableText })),
    timezone: nullable(Type.String({ description: "Null: the project's." })),
    variables: mapOf(whole),
    container_profile: nullableText,
    source: Type.Object({ root: text }),
    hooks: Type.Object({ build: nullableText, deploy: nullableText }),
    dependencies: mapOf(whole),
    runtime: whole,
    run: Type.Object({ command: text, timeout: Type.Integer({ description: 'Seconds.' }) }),
  }),
  address: ({ id, environment }: Task) => ({ projectId: environment.project_id, environmentId: environment.id, taskId: id }),
  scope: ({ environment }): Scope => ({
    project: environment.project_id,
    organization: environment.organization_id,
    environmentType: environment.type,
  }),
  view: 'environment:view',
  load: async ({ projectId, environmentId, taskId }, platform) => {
    const environment = await environmentById(platform.db, platform.config.domain, projectId, environmentId);
    return environment && (await tasksOf(platform, environment)).find(({ id }) => id === taskId);
  },
});

/** The tasks of the current deployment; none where nothing is deployed. */
export async function tasksOf({ db, secrets }: Pick<Platform, 'db' | 'secrets'>, environment: Environment): Promise<Task[]> {
  const stack = await currentStack(db, secrets, environment.project_id, environment.id);
  return Object.values(stack?.model.tasks ?? {}).map((task) => ({ ...task, id: task.name, environment }));
}
