/** The pages of the installation, for operators, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';

const installation = createRoute({
  getParentRoute: () => root,
  path: '/installation',
  component: lazyRouteComponent(() => import('./installation-frame.tsx'), 'InstallationFrame'),
});

const searched = ({ search }: Record<string, unknown>): { search?: string } =>
  typeof search === 'string' && search !== '' ? { search } : {};

export const installationRoutes = installation.addChildren([
  createRoute({
    getParentRoute: () => installation,
    path: '/',
    staticData: { tab: { name: 'Machine', link: 'resources' } },
    component: lazyRouteComponent(() => import('./machine-page.tsx'), 'MachinePage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/health',
    staticData: { tab: { name: 'Health', link: 'health' } },
    component: lazyRouteComponent(() => import('./health-page.tsx'), 'HealthPage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/organizations',
    staticData: { tab: { name: 'Organizations', link: 'organizations' } },
    validateSearch: searched,
    component: lazyRouteComponent(() => import('./organizations-page.tsx'), 'OrganizationsPage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/users',
    staticData: { tab: { name: 'Users', link: 'users' } },
    validateSearch: searched,
    component: lazyRouteComponent(() => import('./users-page.tsx'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/users/$user',
    component: lazyRouteComponent(() => import('./user-page.tsx'), 'UserPage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/images',
    staticData: { tab: { name: 'Images', link: 'images' } },
    component: lazyRouteComponent(() => import('./images-page.tsx'), 'ImagesPage'),
  }),
  createRoute({
    getParentRoute: () => installation,
    path: '/sessions',
    staticData: { tab: { name: 'Sessions', link: 'sign-ins' } },
    component: lazyRouteComponent(() => import('./sessions-page.tsx'), 'SessionsPage'),
  }),
]);
