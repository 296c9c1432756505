/** The addresses of the console. Each can be shared. Every area has its own table; what a page needs beyond the first view comes with it. */
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { accountRoutes } from './pages/account/routes.tsx';
import { environmentRoutes } from './pages/environment/routes.tsx';
import { installationRoutes } from './pages/installation/routes.tsx';
import { organizationRoutes } from './pages/organization/routes.tsx';
import { createProjectRoute, projectRoutes } from './pages/project/routes.tsx';
import { root } from './pages/root.tsx';
import { supportRoutes } from './pages/support/routes.tsx';
import { SignedInPage, SignedOutPage } from './pages/sign-in-pages.tsx';

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    component: lazyRouteComponent(() => import('./pages/home-page.tsx'), 'HomePage'),
  }),
  createRoute({ getParentRoute: () => root, path: '/signed-in', component: SignedInPage }),
  createRoute({ getParentRoute: () => root, path: '/signed-out', component: SignedOutPage }),
  organizationRoutes,
  createProjectRoute,
  projectRoutes,
  environmentRoutes,
  accountRoutes,
  installationRoutes,
  supportRoutes,
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
