/** The servers of a project, its API and its Git, as its users see them: they are this platform's, and restarting them drops what is held for the project. */
import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import { projectById, type Project } from './queries.ts';

/** Clients assume that a server with a version below 12 shows build-visible variables at run time. */
const version = '12';
const image = 'offshoot';

export const systemOf = (project: Project) => ({ version, image, started_at: project.restarted_at, project });

type System = ReturnType<typeof systemOf>;

export const SystemEntity = entity({
  name: 'system information',
  path: '/projects/{projectId}/system',
  params: { projectId: ProjectId },
  schema: Type.Object({ version: Type.String(), image: Type.String(), started_at: Time }),
  address: ({ project }: System) => ({ projectId: project.id }),
  scope: ({ project }) => ({ project: project.id, organization: project.organization_id }),
  view: 'project:view',
  load: async ({ projectId }, { db }) => {
    const project = await projectById(db, projectId);
    return project && systemOf(project);
  },
});
