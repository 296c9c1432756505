/** What one can go to or do by its name, from where one is: pages of the same area, environments of the same project, all projects, and what links offer. */
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams, useRouter } from '@tanstack/react-router';
import { type Offer, offersOf } from '../actions/environment-actions.tsx';
import { linkOf, type Resource } from '../api/link.ts';
import { environmentQuery, environmentsQuery, organizationProjectsQuery, organizationsQuery } from '../api/queries.ts';
import type { Environment } from '../api/resources.ts';
import type { Tab } from '../ui/tabs.tsx';
import type { Named } from './matching.ts';

export type Entry = Named & {
  /** Either an address or an action of the environment that is shown. */
  to: string | { environment: Environment; offer: Offer };
};

type Params = Readonly<Record<string, string | undefined>>;

export function useEntries(): Entry[] {
  const params: Params = useParams({ strict: false });
  const { project = '', environment = '' } = params;
  const { data: organizations = [] } = useQuery(organizationsQuery());
  const projects = useQueries({ queries: organizations.map((organization) => organizationProjectsQuery(organization)) });
  const { data: environments = [] } = useQuery({ ...environmentsQuery(project), enabled: project !== '' });
  const { data: shown } = useQuery({ ...environmentQuery(project, environment), enabled: environment !== '' });
  const pages = usePages(params);
  return [
    ...(shown ? offersOf(shown).map((offer) => actionOn(shown, offer)) : []),
    ...pages,
    ...environments.map(({ id, title }) => ({
      group: 'Environments' as const,
      name: id,
      place: title === id ? '' : title,
      to: `/projects/${project}/environments/${encodeURIComponent(id)}`,
    })),
    ...organizations.flatMap(({ label }, n) =>
      (projects[n]?.data ?? []).map(({ id, title }) => ({
        group: 'Projects' as const,
        name: title || id,
        place: label,
        to: `/projects/${id}`,
      })),
    ),
  ];
}

const actionOn = (environment: Environment, offer: Offer): Entry => ({
  group: 'Actions',
  name: offer.look.verb,
  place: environment.id,
  to: { environment, offer },
});

interface Route {
  fullPath: string;
  options: { staticData?: { tab?: Tab } };
}

/** Every page whose address can be told from where one is, from the tables of routes. */
function usePages(params: Params): Entry[] {
  const { routesById } = useRouter();
  const queries = useQueryClient();
  const home: Entry = { group: 'Pages', name: 'All projects', place: '', to: '/' };
  const pages = (Object.values(routesById) as unknown as Route[]).flatMap(({ fullPath, options }): Entry[] => {
    const tab = options.staticData?.tab;
    const address = filled(fullPath, params);
    if (tab === undefined || address === undefined) return [];
    // The key of a resource is its address (api/events.ts), which is that of its pages without the last part.
    const parts = address.split('/').slice(1, fullPath.endsWith('/') ? undefined : -1);
    const resource = queries.getQueryData<Resource>(
      parts[0] === 'account' ? ['me'] : parts.filter((part) => part !== '').map(decodeURIComponent),
    );
    if (tab.link !== undefined && linkOf(resource, tab.link) === undefined) return [];
    return [{ group: 'Pages', name: tab.name, place: placeOf(parts), to: address }];
  });
  return [home, ...pages];
}

function filled(path: string, params: Params): string | undefined {
  const names = [...path.matchAll(/\$(\w+)/g)].map(([, name = '']) => name);
  if (names.some((name) => params[name] === undefined)) return undefined;
  return path.replaceAll(/\$(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

const areas: Readonly<Record<string, string>> = {
  account: 'Your account',
  organizations: 'Organization',
  projects: 'Project',
  environments: 'Environment',
};

const placeOf = (parts: readonly string[]) => areas[parts[2] === 'environments' ? 'environments' : (parts[0] ?? '')] ?? '';
