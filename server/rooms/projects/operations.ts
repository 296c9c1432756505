import { startActivity } from '../../kernel/activity.ts';
import { array, one, operation, plain, updated } from '../../kernel/operation.ts';
import { ActivityEntity, ActivityQuery, actorOf, changed, listActivities, person, sentence } from '../activities/public.ts';
import { clearBuildCacheActivity } from './activities.ts';
import { Capabilities, capabilities } from './capabilities.ts';
import { ProjectEntity } from './project.ts';
import { SettingsEntity, settingsOf } from './settings.ts';
import { restartSystem, SystemEntity, systemOf } from './system.ts';

export const getProject = operation({
  summary: 'Get a project',
  endpoint: 'GET /projects/{projectId}',
  on: ProjectEntity,
  permission: 'project:view',
  returns: one(ProjectEntity),
  handle: async ({ target }) => target,
});

export const listProjectActivities = operation({
  summary: 'List the activities of a project, the newest first',
  endpoint: 'GET /projects/{projectId}/activities',
  on: ProjectEntity,
  rel: '#activities',
  permission: 'project:view',
  query: ActivityQuery,
  returns: array(ActivityEntity),
  handle: ({ target, query, caller }, { db }) => listActivities(db, target, query, caller),
});

export const getProjectCapabilities = operation({
  summary: 'Get what can be done in a project',
  endpoint: 'GET /projects/{projectId}/capabilities',
  on: ProjectEntity,
  rel: 'capabilities',
  permission: 'project:view',
  returns: plain(Capabilities),
  handle: async () => capabilities,
});

export const getProjectSettings = operation({
  summary: 'Get the settings of a project',
  endpoint: 'GET /projects/{projectId}/settings',
  on: ProjectEntity,
  rel: 'settings',
  permission: 'project:view',
  returns: one(SettingsEntity),
  handle: async ({ target }, { config }) => settingsOf(target, config),
});

export const getProjectSystem = operation({
  summary: "Get which version serves a project's API and Git, and since when",
  endpoint: 'GET /projects/{projectId}/system',
  on: ProjectEntity,
  rel: 'system',
  permission: 'project:view',
  returns: one(SystemEntity),
  handle: async ({ target }) => systemOf(target),
});

export const restartProjectSystem = operation({
  summary: "Restart a project's Git server: conversations that are open end, and clients come again",
  endpoint: 'POST /projects/{projectId}/system/restart',
  on: SystemEntity,
  rel: '#restart',
  permission: 'system:restart',
  returns: updated(SystemEntity),
  handle: async ({ target }, { db }) => systemOf(await restartSystem(db, target.project.id)),
});

export const clearProjectBuildCache = operation({
  summary: 'Empty the build cache of a project',
  endpoint: 'POST /projects/{projectId}/clear_build_cache',
  on: ProjectEntity,
  rel: '#clear-build-cache',
  permission: 'project:admin',
  allowedWhen: ({ status }) => status === 'active',
  returns: updated(ProjectEntity),
  handle: async ({ caller, target }, { db }) => {
    const actor = actorOf(caller.user);
    const started = await db.transaction().execute((tx) =>
      startActivity(tx, clearBuildCacheActivity, {
        project_id: target.id,
        input: {},
        parameters: { user: actor.id },
        payload: { user: actor },
        sentence: sentence`${person(actor)} cleared the build cache`,
      }),
    );
    return changed(target, target.organization_id, started);
  },
});
