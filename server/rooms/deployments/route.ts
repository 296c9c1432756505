/**
 * A route as it is configured: with the placeholders of its address, which is its id unless it was given one. What it became in an environment is
 * in the deployment.
 */
import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable } from '../../kernel/schema.ts';
import type { Platform, Scope } from '../../platform.ts';
import type { Route as ConfiguredRoute } from '../builds/public.ts';
import { currentStack } from './queries.ts';
import type { Stack } from './stack/stack.ts';

const text = Type.String();
const flag = Type.Boolean();
const nullableFlag = nullable(flag);
const texts = Type.Array(text);
const mapOf = (values: object) => Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: values });

export const HttpAccess = Type.Object({
  is_enabled: flag,
  addresses: Type.Array(Type.Object({ permission: Type.String({ enum: ['allow', 'deny'] }), address: text })),
  basic_auth: mapOf({ type: 'string' }),
});

const Redirect = Type.Object({
  to: text,
  regexp: flag,
  prefix: nullableFlag,
  append_suffix: nullableFlag,
  code: Type.Integer({ enum: [301, 302, 307, 308] }),
  expires: nullable(text),
});

/** The fields of all three kinds of routes; a route leaves out the fields that its kind does not have. */
export const RouteFields = {
  primary: nullableFlag,
  production_url: nullable(text),
  attributes: mapOf({ type: 'string' }),
  type: Type.String({ enum: ['upstream', 'redirect', 'proxy'] }),
  tls: Type.Object({
    strict_transport_security: Type.Object({ enabled: nullableFlag, include_subdomains: nullableFlag, preload: nullableFlag }),
    min_version: nullable(Type.String({ enum: ['TLSv1.0', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] })),
    client_authentication: nullable(Type.String({ enum: ['request', 'require'] })),
    client_certificate_authorities: texts,
  }),
  upstream: Type.Optional(text),
  cache: Type.Optional(Type.Object({ enabled: flag, default_ttl: Type.Integer(), cookies: texts, headers: texts })),
  ssi: Type.Optional(Type.Object({ enabled: flag })),
  sticky: Type.Optional(Type.Object({ enabled: flag })),
  to: Type.Optional(text),
  redirects: Type.Optional(Type.Object({ expires: text, paths: Type.Unsafe<object>({ type: 'object', additionalProperties: Redirect }) })),
};

const routeIdCharactersMax = 500;

export type Route = ConfiguredRoute & {
  id: string;
  production_url: string | null;
  /** The scope of the route's environment. */
  scope: Required<Pick<Scope, 'project' | 'organization' | 'environmentType'>>;
  environment_id: string;
};

/** Where requests to an environment go, as configured. */
export const RouteEntity = entity({
  name: 'route',
  path: '/projects/{projectId}/environments/{environmentId}/routes/{routeId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId, routeId: Type.String({ minLength: 1, maxLength: routeIdCharactersMax }) },
  schema: Type.Object({ id: text, ...RouteFields }),
  address: ({ id, scope, environment_id }: Route) => ({ projectId: scope.project, environmentId: environment_id, routeId: id }),
  scope: ({ scope }) => scope,
  view: 'environment:view',
  load: async ({ projectId, environmentId, routeId }, platform) =>
    (await routesOf(platform, projectId, environmentId)).find(({ id }) => id === routeId),
});

/** The routes of the current deployment; none where nothing is deployed. */
export async function routesOf(
  { db, secrets }: Pick<Platform, 'db' | 'secrets'>,
  projectId: string,
  environmentId: string,
): Promise<Route[]> {
  const stack = await currentStack(db, secrets, projectId, environmentId);
  return stack ? configuredRoutes(stack) : [];
}

export function configuredRoutes({ model, routes, project, environment }: Stack): Route[] {
  return Object.entries(model.routes).map(([template, route]) => {
    const resolved = Object.values(routes).find(({ original_url }) => original_url === template);
    return {
      ...route,
      id: route.id ?? template,
      primary: resolved?.primary ?? route.primary,
      production_url: resolved?.production_url ?? null,
      scope: { project: project.id, organization: project.organization_id, environmentType: environment.type },
      environment_id: environment.id,
    };
  });
}
