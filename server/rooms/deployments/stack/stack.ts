/**
 * The stack of an environment: all that should be on the machine for it, in full. A deployment is made from a stack and keeps it, so that what
 * runs can be made again from what is written down: after a reboot, after a pause, or as a copy.
 *
 * Everything that runs is derived from it by pure functions: containers (containers.ts), what applications are told (runtime-variables.ts), the
 * table of the edge (edge-table.ts), the document of the API (document.ts).
 */
import type { ProjectModel } from '../../builds/public.ts';
import type { DomainNames } from '../../domain-names/public.ts';
import type { EffectiveVariable } from '../../variables/public.ts';
import type { EnvironmentType } from '../../../permissions.ts';
import type { Account } from '../../../catalogue/service.ts';
import type { HttpAccess } from '../../../../edge/routing/table.ts';

export interface Stack {
  /** Part of the name of everything on the machine; new with each activation. */
  id: string;
  deployment: { id: string; number: number; created_at: string };
  project: StackProject;
  environment: StackEnvironment;
  commit_id: string;
  model: ProjectModel;
  /** Slugs by application and task. */
  slugs: Record<string, Slug>;
  sizes: Sizes;
  /** Resolved routes by address, such as `https://www.example.org/`. */
  routes: ResolvedRoutes;
  /** The domains that the routes were resolved with; absent in deployments of earlier versions of the platform. */
  domain_names?: DomainNames;
  /** What its apps were told, where domains have changed the routes since they started. */
  told_routes?: ResolvedRoutes;
  settings: { http_access: HttpAccess; enable_smtp: boolean; restrict_robots: boolean };
  /** Secrets in clear text: never logged. */
  secrets: StackSecrets;
}

export interface StackProject {
  id: string;
  title: string;
  organization_id: string;
  entropy: string;
}

export interface StackEnvironment {
  id: string;
  machine_name: string;
  type: EnvironmentType;
  is_main: boolean;
}

export type Slug = import('../../builds/public.ts').Slug;

export interface Size {
  /** A size of the container profile, such as `0.5`. */
  profile_size: string;
  instance_count: number;
  /** MB; null where the container has no disk. */
  disk: number | null;
}

export type Sizes = Record<SizeGroup, Record<string, Size>>;
export type SizeGroup = 'services' | 'webapps' | 'workers' | 'tasks';

export interface StackSecrets {
  variables: EffectiveVariable[];
  /** Accounts by service and endpoint. */
  accounts: Record<string, Record<string, Account>>;
}

export type ResolvedRoutes = Record<string, ResolvedRoute>;
export type ResolvedRoute = import('../../builds/public.ts').ResolvedRoute;
