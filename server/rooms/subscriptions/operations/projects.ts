/** What changes and ends a project from the inside. */
import { Type } from 'typebox';
import { deleted, operation, updated } from '../../../kernel/operation.ts';
import { nullable } from '../../../kernel/schema.ts';
import { changed } from '../../activities/public.ts';
import { ProjectEntity, projectById, projectFields, shown } from '../../projects/public.ts';
import { updateProject } from '../change-project.ts';
import { deleteProject } from '../delete-project.ts';

export const patchProject = operation({
  summary: 'Change a project',
  endpoint: 'PATCH /projects/{projectId}',
  on: ProjectEntity,
  rel: '#edit',
  permission: 'project:admin',
  allowedWhen: ({ status }) => status !== 'deleting',
  body: Type.Partial(
    Type.Object({
      ...projectFields,
      default_branch: Type.String({ maxLength: 250 }),
      default_domain: nullable(Type.String({ maxLength: 253 })),
      timezone: Type.String({ maxLength: 100 }),
    }),
    { additionalProperties: false },
  ),
  example: { title: 'Shop', description: 'Sells things.', attributes: { team: 'web' }, timezone: 'Europe/Amsterdam' },
  returns: updated(ProjectEntity),
  handle: async ({ caller, target, body }, platform) => {
    const { project, activities } = await updateProject(platform, caller, target.id, body);
    return changed(shown(project, platform.config), project.organization_id, ...activities);
  },
});

export const removeProject = operation({
  summary: 'Delete a project with all its environments, keeping a last copy of its repository',
  endpoint: 'DELETE /projects/{projectId}',
  on: ProjectEntity,
  rel: '#delete',
  permission: 'project:admin',
  returns: deleted,
  handle: async ({ caller, target }, platform) => {
    const activity = await deleteProject(platform, caller, target.id);
    const project = (await projectById(platform.db, target.id)) ?? target;
    return changed(shown(project, platform.config), target.organization_id, activity);
  },
});
