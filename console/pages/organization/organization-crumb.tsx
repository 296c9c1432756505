/** The way to an organization, in the bar of everything that is part of it. */
import { Link } from '@tanstack/react-router';
import type { Organization } from '../../api/resources.ts';

export const OrganizationCrumb = ({ organization, isCurrent = false }: { organization: Organization; isCurrent?: boolean }) => (
  <Link to="/organizations/$organization" params={{ organization: organization.id }} aria-current={isCurrent ? 'page' : undefined}>
    <span className="cut">{organization.label}</span>
  </Link>
);
