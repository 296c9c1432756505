/** The domains that an environment's routes are resolved with. */
import { sql } from 'kysely';

export interface DomainNames {
  /** What `{default}` stands for in production; null where that has no domains. */
  default_domain: string | null;
  /** All domains of production, the oldest first. */
  production: string[];
  /** By domain of production: the one that this environment has in its place. */
  replacements: Record<string, string>;
}

/** For a query of environments that are joined with their projects. */
export const domainNamesOf = sql<DomainNames>`(
  select json_build_object(
    'default_domain', projects.default_domain,
    'production', coalesce(json_agg(domains.name order by domains.created_at, domains.name) filter (where domains.environment_id is null), '[]'),
    'replacements', coalesce(json_object_agg(domains.replacement_for, domains.name) filter (where domains.environment_id = environments.id), '{}'))
  from domains where domains.project_id = environments.project_id)`;

/** Whether the environment has domains of its own. */
export const hasDomains = ({ production, replacements }: DomainNames, isProduction: boolean): boolean =>
  isProduction ? production.length > 0 : Object.keys(replacements).length > 0;

/** The domain that stands for `{default}`, beside the generated host where it is no production; null where none does. */
export const defaultDomainOf = ({ default_domain, replacements }: DomainNames, isProduction: boolean): string | null =>
  isProduction || default_domain === null ? default_domain : (replacements[default_domain] ?? null);

/** What routes are resolved with. With its first domain, production is not found at its generated host any more. */
export function hostsToResolveWith(names: DomainNames, { generated, isProduction }: { generated: string; isProduction: boolean }) {
  const { default_domain, production, replacements } = names;
  if (isProduction) return { defaultDomain: default_domain ?? generated, domains: production, isProduction };
  const known = default_domain === null ? {} : { production: { defaultDomain: default_domain, domains: production } };
  return { defaultDomain: generated, domains: [], isProduction, replacements, ...known };
}
