/** Tickets: all that a person is on, and each of them. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { root } from '../root.tsx';

const support = createRoute({
  getParentRoute: () => root,
  path: '/support',
  component: lazyRouteComponent(() => import('./support-frame.tsx'), 'SupportFrame'),
});

export const supportRoutes = support.addChildren([
  createRoute({
    getParentRoute: () => support,
    path: '/',
    component: lazyRouteComponent(() => import('./tickets-page.tsx'), 'TicketsPage'),
  }),
  createRoute({
    getParentRoute: () => support,
    path: '/$ticket',
    component: lazyRouteComponent(() => import('./ticket-page.tsx'), 'TicketPage'),
  }),
]);
