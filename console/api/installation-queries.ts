/** What is asked of the API about the installation, for operators: each address is the link of the installation of that name. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { SignIn, SshKey } from './account-queries.ts';
import { hrefOf, type Resource } from './link.ts';
import { peopleOf } from './pages.ts';
import { request } from './request.ts';
import type { ApiToken, Organization, User } from './resources.ts';

export interface Limits {
  projects: number | null;
  environments: number | null;
  cpu: number | null;
  memory: number | null;
  disk: number | null;
  builds: number | null;
  activities: number | null;
}

export interface Installation extends Resource {
  version: string;
  region: string;
  domain: string;
  created_at: string;
  users: number;
  organizations: number;
  projects: number;
  environments: number;
  default_quota: Limits;
  image_update_asked_at: string | null;
}

export interface Amount {
  there: number | null;
  overcommit: number;
  given: number;
}

export interface InstallationResources {
  cpu: Amount;
  memory: Amount;
  disk: Amount;
  environments: { running: number; paused: number; sleeping: number };
}

export interface Finding {
  what: string;
  need: 'platform' | 'deployments';
  is_ok: boolean;
  found: string;
  remedy: string | null;
}

export interface Health {
  findings: readonly Finding[];
  reconcilers: readonly { name: string; runs: number; failures: number; succeeded_at: string | null }[];
  activities: readonly { type: string; state: string; count: number; oldest_waiting_seconds: number | null }[];
  deliveries: readonly { kind: string; count: number; oldest_waiting_seconds: number | null }[];
  backups: {
    verified_at: string | null;
    is_overdue: boolean;
    places: readonly { name: string; address: string; problem: string | null }[];
    restorable: number;
    damaged: number;
  };
}

export interface OrganizationQuota extends Resource, Limits {
  id: string;
  name: string;
  label: string;
  owner_email: string;
  has_own_quota: boolean;
  used: Omit<{ [Kind in keyof Limits]: number }, 'builds'>;
}

export interface UserAccount extends Resource {
  id: string;
  username: string;
  email: string;
  first_name: string;
  last_name: string;
  is_operator: boolean;
  mfa_enabled: boolean;
  deactivated: boolean;
  organizations: number;
  signed_in_at: string | null;
  created_at: string;
}

export interface Images {
  types: readonly { type: string; bytes: number | null }[];
  bytes_taken: number;
  bytes_collectable: number;
  updated_at: string | null;
  update_days: number;
  update_asked_at: string | null;
}

export interface SshSession extends Resource {
  id: string;
  email: string;
  project_id: string;
  environment_id: string;
  runs: string;
  instance: number;
  address: string;
  is_ending: boolean;
  started_at: string;
}

/**
 * Health, images, sessions and sign-ins are what the machine is found to be when it is asked: no row changes when a reconciler ran or a disk filled up, so the API has
 * nothing to tell, and they are asked for again as long as somebody looks. Of everything else the stream of events tells (events.ts).
 */
const lookedAtMilliseconds = 30_000;
const listedMax = 50;

export const installationQuery = (me: User | undefined) =>
  queryOptions({
    queryKey: ['installation'],
    queryFn: ({ signal }) => request<Installation>('GET', hrefOf(me, 'installation') ?? '', undefined, signal),
    enabled: hrefOf(me, 'installation') !== undefined,
  });

const partOf = <T>(installation: Installation, rel: string) =>
  queryOptions({
    queryKey: ['installation', rel],
    queryFn: ({ signal }) => request<T>('GET', hrefOf(installation, rel) ?? '', undefined, signal),
  });
const lookedAt = { refetchInterval: lookedAtMilliseconds };

export const installationResourcesQuery = (installation: Installation) => partOf<InstallationResources>(installation, 'resources');
export const healthQuery = (installation: Installation) => ({ ...partOf<Health>(installation, 'health'), ...lookedAt });
export const imagesQuery = (installation: Installation) => ({ ...partOf<Images>(installation, 'images'), ...lookedAt });
export const sshSessionsQuery = (installation: Installation) => ({
  ...partOf<readonly SshSession[]>(installation, 'ssh-sessions'),
  ...lookedAt,
});

interface ListPage<T> extends Resource {
  items: readonly T[];
  count: number;
}

/** A long list, a page at a time; `search` is looked for in one of its fields. */
const listOf = <T>(installation: Installation, rel: string, field: string, search: string) =>
  infiniteQueryOptions({
    queryKey: ['installation', rel, search],
    queryFn: ({ signal, pageParam }) => request<ListPage<T>>('GET', pageParam, undefined, signal),
    initialPageParam: firstPage(hrefOf(installation, rel) ?? '', field, search),
    getNextPageParam: (page) => hrefOf(page, 'next'),
  });

const firstPage = (href: string, field: string, search: string) =>
  `${href}?page[size]=${listedMax}${search === '' ? '' : `&filter[${field}][contains]=${encodeURIComponent(search)}`}`;

export const organizationQuotasQuery = (installation: Installation, search: string) =>
  listOf<OrganizationQuota>(installation, 'organizations', 'label', search);
export const userAccountsQuery = (installation: Installation, search: string) =>
  listOf<UserAccount>(installation, 'users', 'email', search);

/** Where anybody is signed in, the last heard of first, and who they are. */
export const everySignInQuery = (installation: Installation) =>
  queryOptions({
    queryKey: ['installation', 'sign-ins'],
    queryFn: async ({ signal }) => {
      const href = `${hrefOf(installation, 'sign-ins')}?sort=-last_used_at&page[size]=${listedMax}`;
      const page = await request<ListPage<SignIn & { user_id: string }>>('GET', href, undefined, signal);
      return { ...page, people: await peopleOf(page, signal) };
    },
    ...lookedAt,
  });

/** Somebody's account, with what operators may do about it. */
export const userQuery = (id: string) =>
  queryOptions({
    queryKey: ['users', id],
    queryFn: ({ signal }) => request<User>('GET', `/users/${encodeURIComponent(id)}`, undefined, signal),
  });

const ofUser = <T>(user: User, rel: string) =>
  queryOptions({
    queryKey: ['users', user.id, rel],
    queryFn: ({ signal }) => request<T>('GET', hrefOf(user, rel) ?? '', undefined, signal),
    enabled: hrefOf(user, rel) !== undefined,
  });

export const signInsOfQuery = (user: User) => ({ ...ofUser<readonly SignIn[]>(user, 'sign-ins'), ...lookedAt });
export const apiTokensOfQuery = (user: User) => ofUser<readonly ApiToken[]>(user, 'api-tokens');
export const sshKeysOfQuery = (user: User) => ofUser<readonly SshKey[]>(user, 'ssh-keys');
export const organizationsOfQuery = (user: User) => ofUser<{ items: readonly Organization[] }>(user, 'organizations');
