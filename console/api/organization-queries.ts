/** What the pages of an organization ask of the API. Keys begin with the path of what they are about. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { everyPage, largePages } from './pages.ts';
import { request } from './request.ts';
import type { Organization } from './resources.ts';

export interface Member extends Resource {
  user_id: string;
  permissions: readonly string[];
  owner: boolean;
  created_at: string;
}

export const membersQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'members'],
    queryFn: ({ signal }) => everyPage<Member>(largePages(hrefOf(organization, 'members')), signal),
    enabled: hrefOf(organization, 'members') !== undefined,
  });

export interface Invitation extends Resource {
  id: string;
  email: string;
  permissions: readonly string[];
  owner: { display_name: string };
  created_at: string;
}

/** Those that wait to be accepted. */
export const invitationsQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'invitations'],
    queryFn: ({ signal }) => request<readonly Invitation[]>('GET', largePages(hrefOf(organization, 'invitations')), undefined, signal),
    enabled: hrefOf(organization, 'invitations') !== undefined,
  });

export interface Team extends Resource {
  id: string;
  label: string;
  project_permissions: readonly string[];
  counts: { member_count: number; project_count: number };
}

export const teamsQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'teams'],
    queryFn: async ({ signal }) => (await everyPage<Team>(largePages(hrefOf(organization, 'teams')), signal)).items,
    enabled: hrefOf(organization, 'teams') !== undefined,
  });

export const teamQuery = (organization: string, team: string) =>
  queryOptions({
    queryKey: ['organizations', organization, 'teams', team],
    queryFn: ({ signal }) => request<Team>('GET', `/teams/${encodeURIComponent(team)}`, undefined, signal),
  });

export interface TeamMember extends Resource {
  user_id: string;
  created_at: string;
}

export const teamMembersQuery = (organization: string, team: Team) =>
  queryOptions({
    queryKey: ['organizations', organization, 'teams', team.id, 'members'],
    queryFn: ({ signal }) => everyPage<TeamMember>(largePages(hrefOf(team, 'members')), signal),
    enabled: hrefOf(team, 'members') !== undefined,
  });

export interface TeamProject extends Resource {
  project_id: string;
  project_title: string;
  granted_at: string;
}

export const teamProjectsQuery = (organization: string, team: Team) =>
  queryOptions({
    queryKey: ['organizations', organization, 'teams', team.id, 'project-access'],
    queryFn: async ({ signal }) => (await everyPage<TeamProject>(largePages(hrefOf(team, 'project-access')), signal)).items,
  });

export type CarbonInterval = 'day' | 'month' | 'year';

/** Kilograms of CO2 equivalent, by project and interval. */
export interface Carbon {
  meta: { from: string; to: string; interval: CarbonInterval; units: string };
  projects: readonly { project_id: string; project_title: string; values: readonly { value: number; start_time: string }[] }[];
  total: number;
}

export const carbonQuery = (organization: Organization, interval: CarbonInterval) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'carbon', interval],
    queryFn: ({ signal }) => request<Carbon>('GET', `${hrefOf(organization, 'carbon')}?interval=${interval}`, undefined, signal),
    enabled: hrefOf(organization, 'carbon') !== undefined,
  });
