import { Type } from 'typebox';
import { EnvironmentId } from '../../ids.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { nullable, Time, Uuid } from '../../kernel/schema.ts';
import { ProjectEntity } from '../projects/public.ts';
import { displayName } from '../users/public.ts';
import { treeOf } from './queries.ts';

const Person = Type.Object({ id: Uuid, display_name: Type.String(), last_active_at: Time });

const Shoot = Type.Object({
  id: EnvironmentId,
  data: Type.Object({
    taken_from: nullable(Type.String({ description: 'The environment whose data it has a copy of; null: its data is its own.' })),
    taken_at: nullable(Type.String({ format: 'date-time', description: 'As of when the copy is.' })),
    bytes: nullable(Type.Integer({ description: 'What is in its volumes; null: it has none, or nobody counts.' })),
    own_bytes: nullable(
      Type.Integer({
        description: 'What of it nobody else holds; the rest is shared with environments that it came from or that came from it.',
      }),
    ),
  }),
  uses: Type.Object({
    cpu: nullable(Type.Number({ description: 'Processors, over the last minute; null: it was not looked at lately.' })),
    memory_bytes: nullable(Type.Integer()),
    measured_at: nullable(Type.String({ format: 'date-time' })),
  }),
  deployments: Type.Array(Type.Object({ at: Time, is_successful: Type.Boolean() }), { description: 'The latest, newest first.' }),
  people: Type.Array(Person, { description: 'Who did something to it lately, the latest first.' }),
});

export const getProjectTree = operation({
  summary: 'Get what the environments of a project hold and use, and who works on them',
  endpoint: 'GET /projects/{projectId}/tree',
  on: ProjectEntity,
  rel: 'tree',
  permission: 'project:view',
  returns: plain(Type.Array(Shoot)),
  handle: async ({ target: { id, organization_id }, caller }, { db }) => {
    const shoots = await treeOf(db, id);
    return shoots
      .filter(({ type }) => caller.can('environment:view', { project: id, organization: organization_id, environmentType: type }))
      .map(({ id: environment, data, uses, deployments, people }) => ({
        id: environment,
        data,
        uses,
        deployments,
        people: people.map((person) => ({ id: person.id, display_name: displayName(person), last_active_at: person.last_active_at })),
      }));
  },
});
