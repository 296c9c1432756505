/** The settings of a project are changed here, because one of them, `initialize`, fills an environment. */
import { Changed, operation, updated } from '../../../kernel/operation.ts';
import { invalidField, Problem } from '../../../kernel/problem.ts';
import type { Caller, Platform } from '../../../platform.ts';
import {
  addressMistake,
  changeProject,
  checkedChange,
  SettingsChange,
  SettingsEntity,
  settingsOf,
  type ProjectSettings,
} from '../../projects/public.ts';
import { environmentById } from '../queries.ts';
import { startInitialize } from '../start-initialize.ts';

export const updateProjectSettings = operation({
  summary:
    'Change the settings of a project: initialize, data_retention, build_resources and maintenance_window; the others are for operators',
  endpoint: 'PATCH /projects/{projectId}/settings',
  on: SettingsEntity,
  rel: '#edit',
  permission: 'project:admin',
  body: SettingsChange,
  example: { build_resources: { cpu: 2 }, maintenance_window: { recurrence: { interval: '2w', day_of_week: 0, time: '03:00' } } },
  returns: updated(SettingsEntity),
  handle: async ({ caller, target, body }, platform) => {
    const settings = JSON.stringify(checkedChange(target, body, caller.user.is_operator));
    const filled = await initialized(platform, target, body['initialize'], caller);
    const after = settingsOf(await changeProject(platform.db, target.project.id, { settings }), platform.config);
    return filled ? new Changed(after, filled.activities) : after;
  },
});

/** Fills the environment of the default branch, as long as it has no code. A value of `initialize` that names no repository is only stored. */
async function initialized(platform: Platform, { project }: ProjectSettings, wanted: unknown, caller: Caller) {
  const { profile, repository, config } = (wanted ?? {}) as Record<string, unknown>;
  if (typeof repository !== 'string') return undefined;
  const mistake = addressMistake(repository);
  if (mistake !== undefined) throw invalidField('initialize.repository', mistake);
  const { db, config: installation } = platform;
  const environment = await environmentById(db, installation.domain, project.id, project.default_branch);
  if (!environment || environment.has_code || environment.is_dirty)
    throw new Problem('conflict', 'The project already has code, or is just getting some; push to it instead.');
  return startInitialize(
    platform,
    environment,
    { repository, ...(typeof profile === 'string' && { profile }), ...(typeof config === 'string' && { config }) },
    caller,
  );
}
