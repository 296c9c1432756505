/** What the pages of a project ask of the API, beyond what every page asks. Keys begin with the path of what they are about. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Activity, Organization, Project } from './resources.ts';

export interface Region {
  id: string;
  label: string;
}

export const regionsQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'regions'],
    queryFn: async ({ signal }) =>
      (await request<{ items: readonly Region[] }>('GET', `${hrefOf(organization, 'self')}/regions`, undefined, signal)).items,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Whom programs have to trust to reach the platform; null where they do already. */
export const authorityQuery = () =>
  queryOptions({
    queryKey: ['authority'],
    queryFn: ({ signal }) => request<{ certificate: string | null }>('GET', '/authority', undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The things of a kind that a project has, by the link that leads to them. */
const listedBy = <T>(project: Project, rel: string, name: string) =>
  queryOptions({
    queryKey: ['projects', project.id, name],
    queryFn: ({ signal }) => request<readonly T[]>('GET', hrefOf(project, rel) ?? '', undefined, signal),
    enabled: hrefOf(project, rel) !== undefined,
  });

export interface Variable extends Resource {
  id: string;
  name: string;
  value?: string;
  is_sensitive: boolean;
  is_json: boolean;
  visible_build: boolean;
  visible_runtime: boolean;
  updated_at: string;
}

export const variablesQuery = (project: Project) => listedBy<Variable>(project, '#variables', 'variables');

export interface Domain extends Resource {
  id: string;
  name: string;
  is_default?: boolean;
  ssl: { has_certificate: boolean; expires_on?: string; trouble?: string };
}

export const domainsQuery = (project: Project) => listedBy<Domain>(project, 'domains', 'domains');

export interface Certificate extends Resource {
  id: string;
  domains: readonly string[];
  is_provisioned: boolean;
  is_invalid: boolean;
  expires_at: string;
}

export const certificatesQuery = (project: Project) => listedBy<Certificate>(project, 'certificates', 'certificates');

export interface Integration extends Resource {
  id: string;
  type: string;
  updated_at: string;
}

export const integrationsQuery = (project: Project) => listedBy<Integration>(project, 'integrations', 'integrations');

/** What an integration was told, and what came of it. */
export const deliveriesQuery = (project: string, integration: Integration) =>
  queryOptions({
    queryKey: ['projects', project, 'integrations', integration.id, 'activities'],
    queryFn: ({ signal }) => request<readonly Activity[]>('GET', hrefOf(integration, '#activities') ?? '', undefined, signal),
    enabled: hrefOf(integration, '#activities') !== undefined,
  });

export interface UserAccess extends Resource {
  user_id: string;
  permissions: readonly string[];
}

export interface Person {
  username: string;
  first_name: string;
  last_name: string;
  email: string;
}

/** Who was given access to a project themselves, and what they are called. */
export const userAccessQuery = (project: string) =>
  queryOptions({
    queryKey: ['projects', project, 'user-access'],
    queryFn: async ({ signal }) => {
      const page = await request<Resource & { items: readonly UserAccess[] }>(
        'GET',
        `/projects/${encodeURIComponent(project)}/user-access`,
        undefined,
        signal,
      );
      const references = Object.keys(page._links).filter((rel) => rel.startsWith('ref:users:'));
      const sets = references.map((rel) => request<Record<string, Person>>('GET', hrefOf(page, rel) ?? '', undefined, signal));
      return { items: page.items, people: Object.assign({}, ...(await Promise.all(sets))) as Record<string, Person> };
    },
  });
