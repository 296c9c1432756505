import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid } from '../../kernel/schema.ts';
import { projectById, type Project } from './queries.ts';

export const ProjectId = Type.String({ pattern: '^[a-z0-9]{1,64}$' });

/** One Git repository with all its environments. */
export const ProjectEntity = entity({
  name: 'project',
  path: '/projects/{projectId}',
  params: { projectId: ProjectId },
  schema: Type.Object({
    id: ProjectId,
    organization_id: Ulid,
    region: Type.String(),
    title: Type.String(),
    status: Type.String(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ id }: Project) => ({ projectId: id }),
  scope: ({ id, organization_id }) => ({ project: id, organization: organization_id }),
  view: 'project:view',
  load: ({ projectId }, { db }) => projectById(db, projectId),
});
