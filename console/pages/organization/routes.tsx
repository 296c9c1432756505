/** The pages of an organization, in the order of their tabs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import type { AuditFilter } from '../../api/audit-queries.ts';
import type { CarbonInterval } from '../../api/organization-queries.ts';
import { root } from '../root.tsx';

const organization = createRoute({
  getParentRoute: () => root,
  path: '/organizations/$organization',
  component: lazyRouteComponent(() => import('./organization-frame.tsx'), 'OrganizationFrame'),
});

/** A day is one, or it is left out. */
function textIn(search: Readonly<Record<string, unknown>>, name: string): [string, string][] {
  const value = search[name];
  const isDay = name === 'from' || name === 'to';
  return typeof value === 'string' && (!isDay || /^\d{4}-\d\d-\d\d$/.test(value)) ? [[name, value]] : [];
}

export const organizationRoutes = organization.addChildren([
  createRoute({
    getParentRoute: () => organization,
    path: '/',
    staticData: { tab: { name: 'Projects' } },
    component: lazyRouteComponent(() => import('./projects-page.tsx'), 'ProjectsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/members',
    staticData: { tab: { name: 'Members', link: 'members' } },
    component: lazyRouteComponent(() => import('./members-page.tsx'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/teams',
    staticData: { tab: { name: 'Teams', link: 'teams' } },
    component: lazyRouteComponent(() => import('./teams-page.tsx'), 'TeamsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/teams/$team',
    component: lazyRouteComponent(() => import('./team-page.tsx'), 'TeamPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/usage',
    staticData: { tab: { name: 'Usage', link: 'subscriptions' } },
    validateSearch: ({ project }: Record<string, unknown>): { project?: string } => (typeof project === 'string' ? { project } : {}),
    component: lazyRouteComponent(() => import('./usage-page.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/billing',
    staticData: { tab: { name: 'Billing', link: 'orders' } },
    component: lazyRouteComponent(() => import('./billing-page.tsx'), 'BillingPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/billing/$order',
    component: lazyRouteComponent(() => import('./order-page.tsx'), 'OrderPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/carbon',
    staticData: { tab: { name: 'Carbon', link: 'carbon' } },
    validateSearch: ({ interval }: Record<string, unknown>): { interval?: CarbonInterval } =>
      interval === 'day' || interval === 'month' || interval === 'year' ? { interval } : {},
    component: lazyRouteComponent(() => import('./carbon-page.tsx'), 'CarbonPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/audit',
    staticData: { tab: { name: 'Audit', link: 'audit' } },
    validateSearch: (search: Record<string, unknown>): AuditFilter =>
      Object.fromEntries(['person', 'kind', 'project', 'from', 'to'].flatMap((name) => textIn(search, name))),
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/support',
    staticData: { tab: { name: 'Support', link: 'tickets' } },
    component: lazyRouteComponent(() => import('./support-page.tsx'), 'SupportPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: '/settings',
    staticData: { tab: { name: 'Settings', link: 'update' } },
    component: lazyRouteComponent(() => import('./settings-page.tsx'), 'SettingsPage'),
  }),
]);
