/** The pages of an environment, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';
import { readView } from './observability/view.ts';

const environment = createRoute({
  getParentRoute: () => root,
  path: '/projects/$project/environments/$environment',
  component: lazyRouteComponent(() => import('./environment-frame.tsx'), 'EnvironmentFrame'),
});

export const environmentRoutes = environment.addChildren([
  createRoute({
    getParentRoute: () => environment,
    path: '/',
    staticData: { tab: { name: 'Overview' } },
    component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/logs',
    staticData: { tab: { name: 'Logs', link: '#logs' } },
    validateSearch: (given): { logs?: string[]; search?: string } => ({
      ...(Array.isArray(given['logs']) && { logs: given['logs'].map(String) }),
      ...(typeof given['search'] === 'string' && { search: given['search'] }),
    }),
    component: lazyRouteComponent(() => import('./logs/logs-page.tsx'), 'LogsPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/observability',
    staticData: { tab: { name: 'Observability', link: '#observability-pipeline' } },
    validateSearch: readView,
    component: lazyRouteComponent(() => import('./observability/observability-page.tsx'), 'ObservabilityPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/resources',
    staticData: { tab: { name: 'Resources', link: '#autoscaling' } },
    component: lazyRouteComponent(() => import('./resources/resources-page.tsx'), 'ResourcesPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/backups',
    staticData: { tab: { name: 'Backups', link: 'backups' } },
    component: lazyRouteComponent(() => import('./backups/backups-page.tsx'), 'BackupsPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/variables',
    staticData: { tab: { name: 'Variables', link: '#variables' } },
    component: lazyRouteComponent(() => import('./variables/variables-page.tsx'), 'VariablesPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/runs',
    staticData: { tab: { name: 'Tasks and crons', link: '#crons' } },
    component: lazyRouteComponent(() => import('./runs/runs-page.tsx'), 'RunsPage'),
  }),
  createRoute({
    getParentRoute: () => environment,
    path: '/terminal',
    staticData: { tab: { name: 'Terminal', link: '#terminal' } },
    validateSearch: ({ in: into }: Record<string, unknown>): { in?: string } => (typeof into === 'string' ? { in: into } : {}),
    component: lazyRouteComponent(() => import('./terminal-page.tsx'), 'TerminalPage'),
  }),
]);
