/** Who is let into a project: people, teams, and those who are invited and have not come yet. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { everyPageWith, largePages } from './pages.ts';
import { request } from './request.ts';
import type { Person, Project } from './resources.ts';

export interface UserAccess extends Resource {
  user_id: string;
  permissions: readonly string[];
}

/** Who was given access to a project themselves, and what they are called. */
export const userAccessQuery = (project: Project) =>
  queryOptions({
    queryKey: ['projects', project.id, 'user-access'],
    queryFn: ({ signal }) => everyPageWith<UserAccess, Person>('users', largePages(hrefOf(project, 'user-access')), signal),
    enabled: hrefOf(project, 'user-access') !== undefined,
  });

export interface TeamAccess extends Resource {
  team_id: string;
}

export interface Team {
  id: string;
  label: string;
  project_permissions: readonly string[];
  counts: { member_count: number };
}

export const teamAccessQuery = (project: Project) =>
  queryOptions({
    queryKey: ['projects', project.id, 'team-access'],
    queryFn: ({ signal }) => everyPageWith<TeamAccess, Team>('teams', largePages(hrefOf(project, 'team-access')), signal),
    enabled: hrefOf(project, 'team-access') !== undefined,
  });

const teamsMax = 100;

/** The teams of the organization that has the project, as far as whoever looks may see them. */
export const organizationTeamsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organizations', organization, 'teams', 'offered'],
    queryFn: async ({ signal }) => {
      const address = `/teams?filter[organization_id]=${encodeURIComponent(organization)}&page[size]=${teamsMax}`;
      return (await request<{ items: readonly Team[] }>('GET', address, undefined, signal)).items;
    },
  });

export interface Invitation extends Resource {
  id: string;
  email: string;
  role: string;
  environments: readonly { type: string; role: string }[];
  owner: { display_name: string };
  created_at: string;
}

/** Those that wait to be accepted. */
export const invitationsQuery = (project: Project) =>
  queryOptions({
    queryKey: ['projects', project.id, 'invitations'],
    queryFn: ({ signal }) => request<readonly Invitation[]>('GET', hrefOf(project, 'invitations') ?? '', undefined, signal),
    enabled: hrefOf(project, 'invitations') !== undefined,
  });
