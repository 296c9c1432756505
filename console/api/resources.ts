/** What the console reads of the API's resources; the OpenAPI document describes all of them. */
import type { Resource } from './link.ts';

export interface User extends Resource {
  id: string;
  username: string;
  first_name: string;
  last_name: string;
  email: string;
  picture?: string;
  company: string;
  website: string;
  country: string;
  mfa_enabled: boolean;
  created_at: string;
}

/** Of others: what lists that mention people tell of them. */
export type Person = Pick<User, 'username' | 'first_name' | 'last_name' | 'email'>;

export interface ApiToken extends Resource {
  id: string;
  name: string;
  token?: string;
  created_at: string;
  last_used_at: string | null;
}

export interface Organization extends Resource {
  id: string;
  name: string;
  label: string;
  country: string;
  security_contact?: string;
  /** What the API tells whoever would change something; only where it is suspended. */
  suspension?: string;
}

export interface OrganizationProject extends Resource {
  id: string;
  organization_id: string;
  title: string;
  region: string;
  status: string;
  default_branch: string;
  created_at: string;
  updated_at: string;
}

export interface Project extends Resource {
  id: string;
  title: string;
  description: string;
  organization: string;
  default_branch: string;
  region: string;
  repository: { url: string };
}

export type EnvironmentType = 'production' | 'staging' | 'development';

/** What each container of an environment was given. */
type Sizes = Readonly<Record<string, { disk: number | null; instance_count: number }>>;

export interface Environment extends Resource {
  id: string;
  project: string;
  title: string;
  machine_name: string;
  type: EnvironmentType;
  parent: string | null;
  status: string;
  sleeping_since: string | null;
  start_failure: string | null;
  is_main: boolean;
  is_dirty: boolean;
  has_code: boolean;
  has_deployment: boolean;
  restrict_robots: boolean;
  http_access: { is_enabled: boolean; basic_auth: Record<string, string> };
  head_commit: string | null;
  merge_info: { commits_ahead: number | null; commits_behind: number | null };
  deployment_state: {
    last_deployment_successful?: boolean | null;
    /** Why, in one sentence. */
    last_deployment_failure_reason?: string | null;
    last_deployment_at?: string | null;
  } | null;
  /** Whose data it has a copy of, as of when; null: its data is its own. */
  data_taken_from: string | null;
  data_taken_at: string | null;
  last_backup_at: string | null;
  sizing: { services: Sizes; webapps: Sizes; workers: Sizes };
  created_at: string;
  updated_at: string;
}

export interface Activity extends Resource {
  id: string;
  type: string;
  project: string;
  environments: readonly string[];
  state: 'pending' | 'in_progress' | 'complete' | 'cancelled' | 'staged' | 'scheduled';
  result: 'success' | 'failure' | null;
  completion_percent: number;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  description: string | null;
  text: string | null;
  parameters: Readonly<Record<string, unknown>>;
}

export interface Container {
  type: string;
  disk: number | null;
  instance_count: number;
  resources?: { profile_size: string | null };
  relationships?: Readonly<Record<string, { service: string | null; endpoint: string | null } | null>>;
  worker?: unknown;
  operations?: Readonly<Record<string, { role: string; commands: { start: string } }>>;
}

export interface Route {
  primary: boolean;
  type: 'upstream' | 'redirect' | 'proxy';
  original_url: string;
  upstream?: string;
  to?: string;
}

export interface Deployment extends Resource {
  id: string;
  routes: Readonly<Record<string, Route>>;
  webapps: Readonly<Record<string, Container>>;
  workers: Readonly<Record<string, Container>>;
  services: Readonly<Record<string, Container>>;
  container_profiles: Readonly<Record<string, Readonly<Record<string, { cpu: number; memory: number }>>>>;
}

export interface EarlierDeployment extends Resource {
  id: string;
  number: number;
  commit: string | null;
  created_at: string;
  is_current: boolean;
  can_rollback: boolean;
  user: { id: string; display_name: string } | null;
  text: string | null;
  activity: string | null;
}

type Change = 'added' | 'removed' | 'changed';

export interface Changed {
  name: string;
  change: Change;
  /** Values as JSON; null where one of the two does not have the field. */
  differences: readonly { path: string; earlier: string | null; current: string | null }[];
}

interface Commits {
  count: number;
  newest: readonly { sha: string; message: string; author: string; date: string }[];
}

/** What differs between an earlier deployment and the current one: what was added is only in the current one. */
export interface Differences {
  earlier: { number: number; commit: string };
  current: { number: number; commit: string };
  commits: { added: Commits; removed: Commits } | null;
  containers: readonly (Changed & { kind: 'app' | 'worker' | 'service' | 'task' })[];
  routes: readonly Changed[];
  variables: readonly { name: string; change: Change }[];
  builds: readonly string[];
}
