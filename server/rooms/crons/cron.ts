/** A cron of what is deployed: its times, and what became of its last run. An extension of the published API, in which only the configuration tells of crons. */
import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Scope } from '../../platform.ts';
import type { Cron as ConfiguredCron } from '../builds/public.ts';
import { currentStack } from '../deployments/public.ts';
import { environmentById, type Environment } from '../environments/public.ts';
import { cronTimes, type CronAddress, type CronTimes } from './queries.ts';

const nameCharactersMax = 200;

export interface Cron extends Omit<CronTimes, 'next_at'> {
  id: string;
  spec: string;
  timezone: string;
  command: string;
  next_at: string | null;

  /** What the cron is made of, and the environment that it belongs to; not part of replies. */
  definition: ConfiguredCron;
  environment: Environment;
}

const Run = Type.Object({
  activity: Type.String(),
  state: Type.String(),
  result: nullable(Type.String()),
  started_at: nullable(Time),
  completed_at: nullable(Time),
});

export const CronEntity = entity({
  name: 'cron',
  path: '/projects/{projectId}/environments/{environmentId}/crons/{app}/{name}',
  params: {
    projectId: ProjectId,
    environmentId: EnvironmentId,
    app: Type.String({ minLength: 1, maxLength: nameCharactersMax }),
    name: Type.String({ minLength: 1, maxLength: nameCharactersMax }),
  },
  schema: Type.Object({
    id: Type.String(),
    app: Type.String(),
    name: Type.String(),
    spec: Type.String({ description: 'Its times, as they were written.' }),
    timezone: Type.String({ description: 'The time zone of its times.' }),
    command: Type.String(),
    next_at: nullable(
      Type.String({
        format: 'date-time',
        description: 'When its time comes next; it passes where nothing runs then. Null: never, or not known yet.',
      }),
    ),
    last_at: nullable(Type.String({ format: 'date-time', description: 'The last time of its own that it was started for.' })),
    last_run: nullable(Run),
  }),
  address: ({ app, name, environment }: Cron) => ({ projectId: environment.project_id, environmentId: environment.id, app, name }),
  scope: ({ environment }): Scope => ({
    project: environment.project_id,
    organization: environment.organization_id,
    environmentType: environment.type,
  }),
  view: 'environment:view',
  load: ({ projectId, environmentId, app, name }, { db, config, secrets }) =>
    cronAt(db, secrets, config.domain, { project_id: projectId, environment_id: environmentId, app, name }),
});

export async function cronAt(db: Db | Tx, secrets: Secrets, domain: string, at: CronAddress): Promise<Cron | undefined> {
  const environment = await environmentById(db, domain, at.project_id, at.environment_id);
  return environment && (await cronsOf(db, secrets, environment)).find(({ app, name }) => app === at.app && name === at.name);
}

/** No cron is due in a year of four digits that nobody lives to see: its times never come. */
const neverBegins = '9999';

/** The crons of the current deployment; none where nothing is deployed. */
export async function cronsOf(db: Db | Tx, secrets: Secrets, environment: Environment): Promise<Cron[]> {
  const stack = await currentStack(db, secrets, environment.project_id, environment.id);
  const times = new Map((await cronTimes(db, environment.project_id, environment.id)).map((each) => [`${each.app} ${each.name}`, each]));
  return Object.values(stack?.model.applications ?? {}).flatMap(({ name: app, timezone, crons }) =>
    Object.entries(crons).map(([name, definition]): Cron => {
      const known = times.get(`${app} ${name}`);
      const isNever = known === undefined || known.next_at.startsWith(neverBegins);
      return {
        id: `${app}/${name}`,
        app,
        name,
        spec: definition.spec,
        timezone: timezone ?? 'UTC',
        command: definition.commands.start,
        next_at: isNever ? null : known.next_at,
        last_at: known?.last_at ?? null,
        last_run: known?.last_run ?? null,
        definition,
        environment,
      };
    }),
  );
}
