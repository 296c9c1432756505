/** The pages of a project, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';

/** Before there is a project. */
export const createProjectRoute = createRoute({
  getParentRoute: () => root,
  path: '/create-project',
  validateSearch: ({ organization }: Record<string, unknown>): { organization?: string } =>
    typeof organization === 'string' ? { organization } : {},
  component: lazyRouteComponent(() => import('./create-project-page.tsx'), 'CreateProjectPage'),
});

const project = createRoute({
  getParentRoute: () => root,
  path: '/projects/$project',
  component: lazyRouteComponent(() => import('./project-frame.tsx'), 'ProjectFrame'),
});

export const projectRoutes = project.addChildren([
  createRoute({
    getParentRoute: () => project,
    path: '/',
    staticData: { tab: { name: 'Environments' } },
    component: lazyRouteComponent(() => import('./tree-page.tsx'), 'TreePage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/activities',
    staticData: { tab: { name: 'Activity' } },
    component: lazyRouteComponent(() => import('./activity-pages.tsx'), 'ActivitiesPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/activities/$activity',
    component: lazyRouteComponent(() => import('./activity-pages.tsx'), 'ActivityPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/variables',
    staticData: { tab: { name: 'Variables', link: '#variables' } },
    component: lazyRouteComponent(() => import('./variables-page.tsx'), 'VariablesPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/access',
    staticData: { tab: { name: 'Access', link: '#access' } },
    component: lazyRouteComponent(() => import('./access-page.tsx'), 'AccessPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/domains',
    staticData: { tab: { name: 'Domains', link: 'domains' } },
    component: lazyRouteComponent(() => import('./domains-page.tsx'), 'DomainsPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/integrations',
    staticData: { tab: { name: 'Integrations', link: 'integrations' } },
    component: lazyRouteComponent(() => import('./integrations-page.tsx'), 'IntegrationsPage'),
  }),
  createRoute({
    getParentRoute: () => project,
    path: '/settings',
    staticData: { tab: { name: 'Settings', link: '#edit' } },
    component: lazyRouteComponent(() => import('./settings-page.tsx'), 'SettingsPage'),
  }),
]);
