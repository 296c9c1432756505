/**
 * What is asked of the API. Each key is made of the parts of the address that it is about, because answers are good until the API tells that something
 * changed at that address (events.ts).
 */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf } from './link.ts';
import { request } from './request.ts';
import type {
  Activity,
  ApiToken,
  Deployment,
  Differences,
  EarlierDeployment,
  Environment,
  Organization,
  OrganizationProject,
  Project,
  User,
} from './resources.ts';

/** A page of an account: all of what a person has is shown at once, up to this. */
const listedMax = 100;
const activitiesShown = 50;

interface Page<T> {
  items: readonly T[];
}

const get = <T>(href: string, signal: AbortSignal) => request<T>('GET', href, undefined, signal);
const projectPath = (project: string) => `/api/projects/${encodeURIComponent(project)}`;
const environmentPath = (project: string, environment: string) => `${projectPath(project)}/environments/${encodeURIComponent(environment)}`;

export const meQuery = () => queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => get<User>('/users/me', signal) });

export const organizationsQuery = () =>
  queryOptions({
    queryKey: ['organizations'],
    queryFn: async ({ signal }) => (await get<Page<Organization>>(`/organizations?page[size]=${listedMax}`, signal)).items,
  });

export const organizationProjectsQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'projects'],
    queryFn: async ({ signal }) => {
      const href = hrefOf(organization, 'projects');
      return href === undefined ? [] : (await get<Page<OrganizationProject>>(`${href}?page[size]=${listedMax}`, signal)).items;
    },
  });

export const projectQuery = (project: string) =>
  queryOptions({
    queryKey: ['projects', project],
    queryFn: ({ signal }) => get<Project>(projectPath(project), signal),
  });

export const isUnderWay = ({ state }: Activity) => state === 'in_progress' || state === 'pending';

export const activitiesQuery = (project: string) =>
  queryOptions({
    queryKey: ['projects', project, 'activities'],
    queryFn: ({ signal }) => get<readonly Activity[]>(`${projectPath(project)}/activities?count=${activitiesShown}`, signal),
  });

export const activityQuery = (project: string, activity: string) =>
  queryOptions({
    queryKey: ['projects', project, 'activities', activity],
    queryFn: ({ signal }) => get<Activity>(`${projectPath(project)}/activities/${encodeURIComponent(activity)}`, signal),
  });

export const environmentsQuery = (project: string) =>
  queryOptions({
    queryKey: ['projects', project, 'environments'],
    queryFn: ({ signal }) => get<readonly Environment[]>(`${projectPath(project)}/environments`, signal),
  });

export const environmentQuery = (project: string, environment: string) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment],
    queryFn: ({ signal }) => get<Environment>(environmentPath(project, environment), signal),
  });

export const environmentActivitiesQuery = (project: string, environment: string) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment, 'activities'],
    queryFn: ({ signal }) =>
      get<readonly Activity[]>(`${environmentPath(project, environment)}/activities?count=${activitiesShown}`, signal),
  });

export const deploymentQuery = (project: string, { id, has_deployment }: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', id, 'deployments', 'current'],
    queryFn: ({ signal }) => get<Deployment>(`${environmentPath(project, id)}/deployments/current`, signal),
    enabled: has_deployment,
  });

export const earlierDeploymentsQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'deployments', 'earlier'],
    queryFn: ({ signal }) => get<readonly EarlierDeployment[]>(hrefOf(environment, 'earlier-deployments') ?? '', signal),
    enabled: hrefOf(environment, 'earlier-deployments') !== undefined,
  });

/** They are other ones with each deployment. */
export const differencesQuery = (project: string, environment: Environment, deployment: EarlierDeployment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'deployments', deployment.id, 'differences'],
    queryFn: ({ signal }) => get<Differences>(hrefOf(deployment, '#differences') ?? '', signal),
    enabled: hrefOf(deployment, '#differences') !== undefined,
    staleTime: 0,
  });

export const apiTokensQuery = (user: User) =>
  queryOptions({
    queryKey: ['me', 'api-tokens'],
    queryFn: ({ signal }) => get<readonly ApiToken[]>(hrefOf(user, 'api-tokens') ?? '', signal),
    enabled: hrefOf(user, 'api-tokens') !== undefined,
  });
