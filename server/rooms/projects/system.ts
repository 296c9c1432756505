/**
 * What serves a project, its API and its Git: this installation, which all projects share. `image` tells which release of it. A restart, which only operators ask for, ends
 * the project's open conversations with Git in all processes; clients come again, and what a push has recorded goes on.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { ProjectId } from '../../ids.ts';
import { notify } from '../../kernel/notices.ts';
import { entity } from '../../kernel/operation.ts';
import { Time } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { changeProject, projectById, type Project } from './queries.ts';

/** Of the interface: clients assume that a server with a version below 12 shows build-visible variables at run time. */
const version = '12';

const Manifest = Type.Object({ version: Type.String() });
const { version: release } = Value.Parse(Manifest, JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')));

/** As times of the database are written, so that the two can be compared. */
const processStartedAt = new Date(performance.timeOrigin).toISOString().replace('Z', '000+00:00');

export const systemOf = (project: Project) => ({
  version,
  image: `offshoot:${release}`,
  started_at: project.restarted_at > processStartedAt ? project.restarted_at : processStartedAt,
  project,
});

/** Heard by whoever serves Git. */
export const restartSystem = (db: Db, projectId: string): Promise<Project> =>
  db.transaction().execute(async (tx) => {
    await notify(tx, 'restart', projectId);
    return changeProject(tx, projectId, { restarted_at: new Date().toISOString() });
  });

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
