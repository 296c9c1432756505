/** The tickets about an organization that one is on. */
import { Tickets } from '../support/tickets.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const SupportPage = () => (
  <OrganizationThings title="Support">
    {(organization) => <Tickets of={organization} about={{ organization_id: organization.id }} />}
  </OrganizationThings>
);
