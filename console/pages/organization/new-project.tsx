/** The way to a new project, for whom the API offers one. */
import { Link } from '@tanstack/react-router';
import { linkOf } from '../../api/link.ts';
import type { Organization } from '../../api/resources.ts';
import { Icon } from '../../ui/icon.tsx';

export const NewProject = ({ organization }: { organization: Organization }) =>
  linkOf(organization, 'create-project') && (
    <Link className="button" to="/create-project" search={{ organization: organization.id }}>
      <Icon name="branch" />
      New project
    </Link>
  );
