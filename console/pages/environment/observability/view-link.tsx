/** A link to another view of the same environment. */
import { Link } from '@tanstack/react-router';
import type { ComponentProps } from 'react';
import { type Looking, route } from './use-view.ts';
import type { View } from './view.ts';

interface ViewLinkProps extends Pick<ComponentProps<'a'>, 'children' | 'className' | 'title' | 'aria-label'> {
  looking: Pick<Looking, 'project' | 'environment'>;
  to: View;
  /** Whether this is what is looked at, as far as the link can tell. */
  isCurrent?: boolean;
}

/** The router would call a link current that leads to less than is shown. */
export const ViewLink = ({ looking: { project, environment }, to, isCurrent = false, ...rest }: ViewLinkProps) => (
  <Link
    {...rest}
    to={route}
    params={{ project, environment: environment.id }}
    search={to}
    resetScroll={false}
    activeOptions={{ exact: true, includeSearch: true }}
    activeProps={{ 'aria-current': isCurrent ? 'true' : undefined }}
    inactiveProps={{ 'aria-current': isCurrent ? 'true' : undefined }}
  />
);
