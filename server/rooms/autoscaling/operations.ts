import { operation, plain } from '../../kernel/operation.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import { changeSettings, effectiveSettings } from './change-settings.ts';
import { AutoscalingSettings, SettingsChange } from './settings.ts';

const endpoint = '/projects/{projectId}/environments/{environmentId}/autoscaling/settings';

export const getAutoscalerSettings = operation({
  summary: 'Get what decides how many instances each application and worker of an environment has',
  endpoint: `GET ${endpoint}`,
  on: EnvironmentEntity,
  rel: '#autoscaling',
  permission: 'environment:view',
  returns: plain(AutoscalingSettings),
  handle: ({ target }, { db }) => effectiveSettings(db, target),
});

const changing = {
  on: EnvironmentEntity,
  permission: 'environment:admin',
  allowedWhen: ({ status }: { status: Parameters<typeof environmentLife.possible>[0] }) => environmentLife.possible(status, 'edit'),
  otherwise: ({ status }: { status: Parameters<typeof environmentLife.possible>[0] }) => environmentLife.otherwise(status, 'edit'),
  body: SettingsChange,
  example: { services: {} },
  returns: plain(AutoscalingSettings),
} as const;

export const patchAutoscalerSettings = operation({
  ...changing,
  summary: 'Change when an environment gets more instances of its applications and workers, or fewer; what is not named stays as it is',
  endpoint: `PATCH ${endpoint}`,
  rel: '#manage-autoscaling',
  handle: ({ target, body }, platform) => changeSettings(platform, target, body),
});

export const postAutoscalerSettings = operation({
  ...changing,
  summary: 'Change when an environment gets more instances or fewer, as with PATCH',
  endpoint: `POST ${endpoint}`,
  handle: ({ target, body }, platform) => changeSettings(platform, target, body),
});
