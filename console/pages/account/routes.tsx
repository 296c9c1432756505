/** The pages of a person's own account, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';

const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyRouteComponent(() => import('./account-frame.tsx'), 'AccountFrame'),
});

export const accountRoutes = account.addChildren([
  createRoute({
    getParentRoute: () => account,
    path: '/',
    staticData: { tab: { name: 'Profile' } },
    component: lazyRouteComponent(() => import('./profile-page.tsx'), 'ProfilePage'),
  }),
  createRoute({
    getParentRoute: () => account,
    path: '/security',
    staticData: { tab: { name: 'Security' } },
    component: lazyRouteComponent(() => import('./security-page.tsx'), 'SecurityPage'),
  }),
  createRoute({
    getParentRoute: () => account,
    path: '/api-tokens',
    staticData: { tab: { name: 'API tokens' } },
    component: lazyRouteComponent(() => import('./api-tokens-page.tsx'), 'ApiTokensPage'),
  }),
  createRoute({
    getParentRoute: () => account,
    path: '/ssh-keys',
    staticData: { tab: { name: 'SSH keys', link: 'ssh-keys' } },
    component: lazyRouteComponent(() => import('./ssh-keys-page.tsx'), 'SshKeysPage'),
  }),
  createRoute({
    getParentRoute: () => account,
    path: '/sign-ins',
    staticData: { tab: { name: 'Sign-ins', link: 'sign-ins' } },
    component: lazyRouteComponent(() => import('./sign-ins-page.tsx'), 'SignInsPage'),
  }),
]);
