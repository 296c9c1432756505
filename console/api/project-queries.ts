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

/** What an environment holds and uses, what was deployed there lately, and who works on it. */
export interface TreeShoot {
  id: string;
  data: { bytes: number | null; own_bytes: number | null };
  uses: { cpu: number | null; memory_bytes: number | null };
  deployments: readonly { at: string; is_successful: boolean }[];
  people: readonly { id: string; display_name: string; last_active_at: string }[];
}

/** What is used is measured once a minute, of which nobody is told. */
const measuredMilliseconds = 60_000;

export const treeQuery = (project: Project | undefined) =>
  queryOptions({
    queryKey: ['projects', project?.id ?? '', 'tree'],
    queryFn: ({ signal }) => request<readonly TreeShoot[]>('GET', hrefOf(project, 'tree') ?? '', undefined, signal),
    enabled: hrefOf(project, 'tree') !== undefined,
    refetchInterval: measuredMilliseconds,
    staleTime: measuredMilliseconds,
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

export interface DomainDns {
  /** Null: nobody answers. */
  is_set: boolean | null;
  says: string;
  records: readonly { type: string; name: string; value: string }[];
}

export const domainDnsQuery = (project: string, domain: Domain) =>
  queryOptions({
    queryKey: ['projects', project, 'domains', domain.id, 'dns'],
    queryFn: ({ signal }) => request<DomainDns>('GET', hrefOf(domain, 'dns') ?? '', undefined, signal),
    enabled: hrefOf(domain, 'dns') !== undefined,
  });

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
