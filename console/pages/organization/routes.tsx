/** The pages of an organization, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';

const organization = createRoute({
  getParentRoute: () => root,
  path: '/organizations/$organization',
  component: lazyRouteComponent(() => import('./organization-frame.tsx'), 'OrganizationFrame'),
});

export const organizationRoutes = organization.addChildren([
  createRoute({
    getParentRoute: () => organization,
    path: '/',
    staticData: { tab: { name: 'Projects' } },
    component: lazyRouteComponent(() => import('./projects-page.tsx'), 'ProjectsPage'),
  }),
]);
