/** Who is let into a project: people, teams, and those who are invited and have not come yet. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Project } from './resources.ts';

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

/** A list, and what it mentions, by id. */
interface Listed<Item, Mentioned> {
  items: readonly Item[];
  mentioned: Readonly<Record<string, Mentioned>>;
}

async function listed<Item, Mentioned>(project: Project, rel: string, set: string, signal: AbortSignal): Promise<Listed<Item, Mentioned>> {
  const page = await request<Resource & { items: readonly Item[] }>('GET', hrefOf(project, rel) ?? '', undefined, signal);
  const references = Object.keys(page._links).filter((name) => name.startsWith(`ref:${set}:`));
  const sets = references.map((name) => request<Record<string, Mentioned>>('GET', hrefOf(page, name) ?? '', undefined, signal));
  return { items: page.items, mentioned: Object.assign({}, ...(await Promise.all(sets))) as Record<string, Mentioned> };
}

/** Who was given access to a project themselves, and what they are called. */
export const userAccessQuery = (project: Project) =>
  queryOptions({
    queryKey: ['projects', project.id, 'user-access'],
    queryFn: ({ signal }) => listed<UserAccess, Person>(project, 'user-access', 'users', signal),
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
    queryFn: ({ signal }) => listed<TeamAccess, Team>(project, 'team-access', 'teams', signal),
    enabled: hrefOf(project, 'team-access') !== undefined,
  });

const teamsMax = 100;

/** The teams of the organization that has the project, as far as whoever looks may see them. */
export const organizationTeamsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organizations', organization, 'teams'],
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
